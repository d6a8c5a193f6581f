import { strongestCuts } from "./cuts";
import type { Head } from "./head";
import type { Run } from "./run";

/** The numbers of a head that the grid and the table of heads use. NaN: the run does not state it. */
export interface HeadFacts {
  head: Head;
  /** Place of its layer in the order in which layers run. */
  column: number;
  /** Kinds that the detectors found. */
  detected: string[];
  /** Kept edges beyond chance that end or begin at the head. */
  incoming: number;
  outgoing: number;
  /** Sum of z, and whether the head is a hub. */
  strength: number;
  hub: "yes" | "no" | "unknown";
  /** The effect of cutting one of its edges that has the largest size. */
  effect: number;
  /** Mean entropy of its attention, in nats. */
  entropy: number;
  /** Gain over the control with the same mask. */
  gain: number;
}

const read = new WeakMap<Run, HeadFacts[]>();

/** Returns the facts of all heads, in the order of `run.heads`. */
export function headFacts(run: Run): HeadFacts[] {
  if (!read.has(run)) read.set(run, collect(run));
  return read.get(run)!;
}

function collect(run: Run): HeadFacts[] {
  const known = run.edges.some((edge) => edge.standing !== "unknown");
  const incoming = new Map<string, number>();
  const outgoing = new Map<string, number>();
  const add = (to: Map<string, number>, name: string) => to.set(name, (to.get(name) ?? 0) + 1);
  for (const edge of run.edges) {
    if (edge.standing !== "beyond" && edge.standing !== "out") continue;
    add(outgoing, edge.source);
    add(incoming, edge.target);
  }
  const hubs = new Map(run.hubs.map((hub) => [hub.head, hub]));
  const effects = new Map<string, number>();
  // The largest effects are first.
  for (const { source, target, effect } of strongestCuts([...run.cuts, ...run.componentCuts]))
    for (const name of [source, target]) if (!effects.has(name)) effects.set(name, effect);
  const entropy = meanEntropy(run);
  const gain = run.table("sparsity")?.has("gain_low") ? column(run, "sparsity", "gain") : new Map<string, number>();
  const detected = detectedKinds(run);
  return run.heads.map((head) => ({
    head,
    column: run.layers.column(head),
    detected: detected.get(head.name) ?? [],
    incoming: known ? (incoming.get(head.name) ?? 0) : NaN,
    outgoing: known ? (outgoing.get(head.name) ?? 0) : NaN,
    strength: hubs.get(head.name)?.strength ?? NaN,
    hub: hubs.get(head.name)?.significant ?? "unknown",
    effect: effects.get(head.name) ?? NaN,
    entropy: entropy.get(head.name) ?? NaN,
    gain: gain.get(head.name) ?? NaN,
  }));
}

/** Returns a column of a table with one row per head. */
function column(run: Run, name: string, wanted: string): Map<string, number> {
  const table = run.table(name);
  const key = table?.has("head") ? "head" : "name";
  return new Map(
    Array.from({ length: table?.rows ?? 0 }, (_, row) => [table!.text(key, row), table!.number(wanted, row)]),
  );
}

/** Returns the kinds that the detectors found, by head. */
export function detectedKinds(run: Run): Map<string, string[]> {
  const table = run.table("detectors");
  const rows = Array.from({ length: table?.rows ?? 0 }, (_, row) => row);
  return new Map(
    rows.map((row) => [table!.text("head", row), table!.text("detected", row).split(" ").filter(Boolean)]),
  );
}

/** Returns what heads of a kind attend to, in words: "previous token". */
export const kindName = (kind: string) =>
  ({ previous: "previous token", duplicate: "duplicate token" })[kind] ?? kind.replaceAll("_", " ");

/** Returns the entropy of attention.csv, else the mean over the inputs of the page. */
function meanEntropy(run: Run): Map<string, number> {
  if (run.table("attention")?.has("entropy")) return column(run, "attention", "entropy");
  const sums = new Map<string, { sum: number; count: number }>();
  for (const input of run.inputs)
    for (const [name, value] of input.summaryOf("entropy")) {
      const one = sums.get(name) ?? { sum: 0, count: 0 };
      sums.set(name, { sum: one.sum + value, count: one.count + 1 });
    }
  return new Map([...sums].map(([name, { sum, count }]) => [name, sum / count]));
}
