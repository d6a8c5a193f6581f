import { parseHead } from "./head";
import type { Edge, Run } from "./run";
import { readStanding } from "./significance";

/** What else than heads is in a layer: its MLP, and the rotary key that its heads share (latent attention). */
export const componentKinds = ["M", "R"] as const;
export type ComponentKind = (typeof componentKinds)[number];

export interface Component {
  layer: number;
  kind: ComponentKind;
}

/** Short names of the kinds. */
export const componentNames: Record<ComponentKind, string> = { M: "MLP", R: "R key" };

/** Parses the name of an MLP, "L4M", or of a shared rotary key, "L4R"; null for any other name. */
export function parseComponent(name: string): Component | null {
  const found = /^L(\d{1,6})([MR])$/.exec(name);
  return found ? { layer: Number(found[1]), kind: found[2] as ComponentKind } : null;
}

/** Returns a component in words: "MLP of layer 4", "rotary key that the heads of layer 4 share". */
export function componentTitle(name: string): string {
  const { layer, kind } = parseComponent(name)!;
  return kind === "M" ? `MLP of layer ${layer}` : `Rotary key that the heads of layer ${layer} share`;
}

/** Names the kinds of components among names: "MLPs", "MLPs and shared rotary keys". */
export function otherNames(names: readonly string[]): string {
  const kinds = new Set(names.map((name) => parseComponent(name)?.kind));
  return [...(kinds.has("M") ? ["MLPs"] : []), ...(kinds.has("R") ? ["shared rotary keys"] : [])].join(" and ");
}

/** Returns the edges with an end that is no head: an MLP or a rotary key. Empty if relate compared heads alone (--nodes). */
export function componentEdges(run: Run): Edge[] {
  const table = run.table("component_edges");
  if (!table) return [];
  const edges: Edge[] = [];
  for (let row = 0; row < table.rows; ++row) {
    const source = table.text("source", row);
    const target = table.text("target", row);
    const others = [source, target].filter((name) => parseComponent(name) !== null).length;
    const heads = [source, target].filter((name) => parseHead(name) !== null).length;
    if (others === 0 || others + heads < 2) continue;
    const numbers = (letter: string) =>
      Object.fromEntries(
        ["isotropic", "span"]
          .filter((null_) => table.has(`${letter}_${null_}`))
          .map((null_) => [null_, table.number(`${letter}_${null_}`, row)]),
      );
    edges.push({
      pair: table.text("pair", row),
      source,
      target,
      score: table.number("overlap", row),
      rank: table.number("rank", row),
      z: numbers("z"),
      p: numbers("p"),
      q: numbers("q"),
      log10p: numbers("log10_p"),
      standing: readStanding(table, row),
    });
  }
  return edges;
}
