import type { Run } from "./run";
import type { Table } from "./table";

/**
 * What the null models say about an edge. "beyond": the affinity is beyond chance, q <= 0.05 under the isotropic and the
 * matched null. "out": it also stands out among the pairs of its own roles and layer distance. "unknown": the run does
 * not say, because it is older or has no null models.
 */
export type Standing = "out" | "beyond" | "not" | "unknown";

export const standingLabels: Record<Standing, string> = {
  out: "stands out",
  beyond: "beyond chance",
  not: "not beyond chance",
  unknown: "significance unknown",
};

/** Returns the standing of a row of edges.csv. */
export function readStanding(table: Table, row: number): Standing {
  const beyond = table.text("beyond_chance", row);
  if (beyond !== "yes") return beyond === "no" ? "not" : "unknown";
  return table.text("stands_out", row) === "yes" ? "out" : "beyond";
}

/** Numbers of pairs of heads, of one pair of roles or of all ("all"). */
export interface WiringCount {
  pair: string;
  pairs: number;
  beyond: number;
  out: number;
}

/** Returns the rows of wiring.csv; empty if the run does not have it. */
export function wiringCounts(run: Run): WiringCount[] {
  const table = run.table("wiring");
  return Array.from({ length: table?.rows ?? 0 }, (_, row) => ({
    pair: table!.text("pair", row),
    pairs: table!.number("pairs", row),
    beyond: table!.number("beyond_chance", row),
    out: table!.number("stands_out", row),
  }));
}

/** Returns the counts of a pair of roles, or of all pairs of heads; null if the run does not state them. */
export function countOf(run: Run, pair = "all"): WiringCount | null {
  const found = wiringCounts(run).find((one) => one.pair === pair);
  if (found || !run.edges.some((edge) => edge.standing !== "unknown")) return found ?? null;
  // Without wiring.csv, only the kept edges are known.
  const edges = run.edges.filter((edge) => pair === "all" || edge.pair === pair);
  const count = (wanted: Standing[]) => edges.filter((edge) => wanted.includes(edge.standing)).length;
  return { pair, pairs: edges.length, beyond: count(["beyond", "out"]), out: count(["out"]) };
}

/** Whether the wiring is beyond chance: "some" pairs of heads are, or "none", or the run does not say. */
export function wiringStanding(run: Run): "some" | "none" | "unknown" {
  const count = countOf(run);
  return count === null || Number.isNaN(count.beyond) ? "unknown" : count.beyond > 0 ? "some" : "none";
}

/** Returns a sentence on the counts: "12 of 64 pairs are beyond chance, 3 stand out." */
export function countSentence(run: Run, pair = "all"): string {
  const count = countOf(run, pair);
  const thing = run.table("wiring") ? "pairs" : "kept edges";
  if (count === null || Number.isNaN(count.beyond))
    return "Whether any edge is beyond chance is unknown: this run does not contain the significance of its edges.";
  const number = (value: number) => value.toLocaleString("en-US");
  if (count.beyond === 0)
    return `${pair === "all" ? "No wiring beyond chance" : `${pair}: none beyond chance`}: 0 of ${number(count.pairs)} ${thing}.`;
  const are = count.beyond === 1 ? "is" : "are";
  const stand = count.out === 1 ? "stands" : "stand";
  return `${pair === "all" ? "" : `${pair}: `}${number(count.beyond)} of ${number(count.pairs)} ${thing} ${are} beyond chance, ${number(count.out)} ${stand} out.`;
}

/** Smallest probability that is shown as a number. */
const smallest = 1e-12;

/**
 * Formats a p-value: "below 1e-12" if it is smaller. So far out no null model is known to be right, and a number would
 * claim that it is.
 */
export function formatP(p: number): string {
  if (Number.isNaN(p)) return "\u2013";
  if (p <= smallest) return "below 1e-12";
  const rounded = Number(p.toPrecision(2));
  const [mantissa, exponent] = rounded.toExponential(1).split("e") as [string, string];
  return rounded < 1e-3 ? `${Number(mantissa)}e${Number(exponent)}` : String(rounded);
}

/** Returns a p-value for a table: not below 1e-12. */
export const floorP = (p: number) => (p < smallest ? smallest : p);
