import { NumberArray } from "./array";
import { Blocks } from "./blocks";
import { readCuts, type Cut } from "./cuts";
import type { Axis, Doc, Input, PackedAffinity, PackedArray } from "./doc";
import { compareHeads, parseHead, type Head } from "./head";
import { groupInputs, type CapturedInput } from "./inputs";
import { Layers } from "./layers";
import { readStanding, type Standing } from "./significance";
import { Table } from "./table";

export interface Edge {
  pair: string;
  source: string;
  target: string;
  score: number;
  rank: number;
  z: Record<string, number>;
  p: Record<string, number>;
  q: Record<string, number>;
  log10p: Record<string, number>;
  standing: Standing;
}

export interface Hub {
  rank: number;
  head: string;
  strength: number;
  reason: string;
  /** Family-wise p; NaN if the run does not state it. */
  p: number;
  /** "unknown" if the run does not state it. */
  significant: "yes" | "no" | "unknown";
}

/** A token close to a subspace. `q` is NaN if the run does not state it. */
export interface ProfileToken {
  text: string;
  q: number;
}

/** The data of the page, with lookups for the views. */
export class Run {
  readonly heads: Head[];
  readonly layers: Layers;
  readonly inputs: CapturedInput[];
  readonly edges: Edge[];
  readonly nulls: string[];
  readonly hubs: Hub[];
  /** Edges between heads that were cut. */
  readonly cuts: Cut[];
  /** Edges from heads to MLPs and the unembedding that were cut. */
  readonly componentCuts: Cut[];
  private readonly tables = new Map<string, Table>();
  private readonly byName: Map<string, Head>;
  /** Heads that only compared runs or cut edges name. */
  private readonly named: Set<string>;
  private readonly arrays = new Map<number, Promise<NumberArray>>();
  private tokens: Map<string, Map<string, ProfileToken[]>> | null = null;

  constructor(
    readonly doc: Doc,
    private readonly blocks: Blocks,
  ) {
    for (const [name, table] of Object.entries(doc.tables ?? {})) this.tables.set(name, new Table(table));
    this.heads = this.findHeads();
    this.byName = new Map(this.heads.map((head) => [head.name, head]));
    const others = (doc.comparison?.axes ?? []).flatMap((one) => (one.axis === "head" ? (one.tree.names ?? []) : []));
    this.cuts = readCuts(this.table("patch"), "pk");
    this.componentCuts = readCuts(this.table("patch_components"), "overlap");
    const ends = [...this.cuts, ...this.componentCuts].flatMap((cut) => [cut.source, cut.target]);
    this.named = new Set([...others, ...ends].filter((name) => parseHead(name) !== null));
    this.layers = new Layers(this.heads);
    this.inputs = groupInputs(doc.inputs ?? []);
    this.nulls = (this.table("edges")?.columns ?? []).filter((c) => c.startsWith("z_")).map((c) => c.slice(2));
    this.edges = this.readEdges();
    this.hubs = this.readHubs();
  }

  table(name: string): Table | undefined {
    return this.tables.get(name);
  }
  tableNames(): string[] {
    return [...this.tables.keys()];
  }
  head(name: string | null): Head | undefined {
    return name === null ? undefined : this.byName.get(name);
  }
  /** Whether the run, one of the runs it compares, or an edge that was cut has a head of this name. */
  hasHead(name: string | null): boolean {
    return name !== null && (this.byName.has(name) || this.named.has(name));
  }
  axis(name: "head" | "query" | "key"): Axis | undefined {
    return this.doc.axes?.[name];
  }
  /** Returns the part of an input with the maps of which a command wrote trees and tables; the first one by default. */
  mainPart(command: "organize" | "softmax"): Input | undefined {
    const parts = this.doc.inputs ?? [];
    return parts[this.doc.main_input?.[command] ?? 0];
  }
  /** Returns the heads along the rows or columns of an affinity. */
  headsOf(kind: PackedAffinity["rows"]): Head[] {
    return this.heads.filter((head) => head.kv === (kind === "kv"));
  }
  /** Returns the heads that organize used, in the order of its head axis. */
  organizedHeads(): string[] {
    return this.doc.trees?.head?.names ?? this.inputs[0]?.heads ?? [];
  }

  /** Returns the null model of z in texts and widths: matched, else span. The isotropic one is never the headline. */
  get headlineNull(): string | undefined {
    return ["matched", "span"].find((one) => this.nulls.includes(one));
  }
  /** Returns the sentences that a command concluded with. */
  verdict(command: string): string[] {
    return this.doc.manifest.commands[command]?.verdict ?? [];
  }
  /** The name of the model, as it was given to a command; empty if no command was given one. */
  get model(): string {
    const { commands } = this.doc.manifest;
    const given = ["relate", "capture", "patch", "detect", "prune"].map((name) => commands[name]?.arguments?.[1]);
    const path = given.find((one) => one !== undefined && !one.startsWith("-")) ?? "";
    return path.replace(/\/+$/, "").split("/").at(-1)!;
  }

  /** Returns the tokens closest to the subspaces of a head, best first, by role. */
  tokensOf(head: string): Map<string, ProfileToken[]> {
    if (!this.tokens) {
      this.tokens = new Map();
      const table = this.table("tokens");
      for (let row = 0; table && row < table.rows; ++row) {
        const name = table.text("head", row);
        const roles = this.tokens.get(name) ?? new Map<string, ProfileToken[]>();
        const role = table.text("role", row);
        const token = { text: table.text("token", row), q: table.number("q", row) };
        roles.set(role, [...(roles.get(role) ?? []), token]);
        this.tokens.set(name, roles);
      }
    }
    return this.tokens.get(head) ?? new Map<string, ProfileToken[]>();
  }

  array(packed: PackedArray): Promise<NumberArray> {
    let array = this.arrays.get(packed.block);
    if (!array) {
      array = this.blocks.get(packed.block).then((bytes) => new NumberArray(packed, bytes));
      this.arrays.set(packed.block, array);
    }
    return array;
  }

  private findHeads(): Head[] {
    const found = new Map<string, Head>();
    const add = (name: string) => {
      const head = parseHead(name);
      if (head && !found.has(name)) found.set(name, head);
    };
    for (const name of ["heads", "detectors", "sparsity", "invariance", "ranking"]) {
      const table = this.tables.get(name);
      for (let row = 0; table && row < table.rows; ++row) add(table.text("head", row));
    }
    for (const input of this.doc.inputs ?? []) input.tokens.heads.forEach(add);
    this.doc.trees?.head?.names?.forEach(add);
    // Heads protected from pruning are not in the ranking.
    (this.doc.manifest.commands.prune?.identity?.protect ?? "").split(",").forEach(add);
    const heads = this.tables.get("heads");
    for (let row = 0; heads && row < heads.rows; ++row) {
      const head = found.get(heads.text("head", row));
      if (head) head.classes = heads.text("classes", row).split(";").filter(Boolean);
    }
    return [...found.values()].sort(compareHeads);
  }

  private readEdges(): Edge[] {
    const table = this.table("edges");
    if (!table) return [];
    return Array.from({ length: table.rows }, (_, row) => {
      const numbers = (letter: string) =>
        Object.fromEntries(this.nulls.map((null_) => [null_, table.number(`${letter}_${null_}`, row)]));
      return {
        pair: table.text("pair", row),
        source: table.text("source", row),
        target: table.text("target", row),
        score: table.number("score", row),
        rank: table.number("rank", row),
        z: numbers("z"),
        p: numbers("p"),
        q: numbers("q"),
        log10p: numbers("log10_p"),
        standing: readStanding(table, row),
      };
    });
  }

  private readHubs(): Hub[] {
    const table = this.table("hubs");
    if (!table) return [];
    return Array.from({ length: table.rows }, (_, row) => ({
      rank: table.number("rank", row),
      head: table.text("head", row),
      strength: table.number("strength", row),
      reason: table.text("reason", row),
      p: table.number("p_family", row),
      significant: table.has("significant") ? (table.text("significant", row) === "yes" ? "yes" : "no") : "unknown",
    }));
  }
}

/** Reads the data of the page. */
export async function openRun(page: Document): Promise<Run> {
  const blocks = new Blocks(page);
  const main = page.querySelector<HTMLMetaElement>('meta[name="headscope-main"]');
  if (!main) throw new Error("the page contains no data");
  const text = new TextDecoder().decode(await blocks.get(Number(main.content)));
  return new Run(JSON.parse(text) as Doc, blocks);
}
