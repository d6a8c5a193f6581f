import type { Table } from "./table";

/** How the weights at both ends of an edge are compared: two heads, or a head and an MLP or the unembedding. */
export type CutScore = "pk" | "overlap";

/** An edge that was cut. `effect` is NaN if it was not measured. */
export interface Cut {
  pair: string;
  source: string;
  target: string;
  score: number;
  z: number;
  /** NaN unless both ends are heads: there is no screen of other edges. */
  local: number;
  effect: number;
  kind: string;
  inCircuit: boolean;
}

/** Cut edges of a pair of roles, chosen in one way, next to random edges between the same layers. */
export interface CutSample {
  pair: string;
  sample: string;
  chosen: number;
  controls: number;
  /** 99 % quantile of |effect| over the controls of the pair; NaN without controls. */
  level: number;
  above: number;
  median: number;
  medianControl: number;
  aucScore: number;
  aucZ: number;
  aucLocal: number;
  p: number;
}

const rowsOf = <T>(table: Table | undefined, read: (row: number, from: Table) => T): T[] =>
  table ? Array.from({ length: table.rows }, (_, row) => read(row, table)) : [];

/** Reads patch.csv or patch_components.csv. */
export function readCuts(table: Table | undefined, score: CutScore): Cut[] {
  return rowsOf(table, (row, from) => ({
    pair: from.text("pair", row),
    source: from.text("source", row),
    target: from.text("target", row),
    score: from.number(score, row),
    z: from.number("z", row),
    local: from.number("local", row),
    effect: from.number("effect", row),
    kind: from.text("kind", row),
    inCircuit: from.text("in_circuit", row) === "yes",
  }));
}

/** Reads patch_agreement.csv or patch_component_agreement.csv. */
export function readCutSamples(table: Table | undefined, score: CutScore): CutSample[] {
  return rowsOf(table, (row, from) => ({
    pair: from.text("pair", row),
    sample: from.has("sample") ? from.text("sample", row) : "top",
    chosen: from.number("chosen", row),
    controls: from.number("controls", row),
    level: from.number("level", row),
    above: from.number("above", row),
    median: from.number("median", row),
    medianControl: from.number("median_control", row),
    aucScore: from.number(`auc_${score}`, row),
    aucZ: from.number("auc_z", row),
    aucLocal: from.number("auc_local", row),
    p: from.number("p", row),
  }));
}

/** "few": too few edges were cut to tell. "unknown": there are no controls. */
export type Effect = "beyond" | "none" | "few" | "unknown";

/** Highest corrected p of an effect. */
const level = 0.05;

/**
 * Says whether chosen edges change more than random ones: a p of 0.05, corrected for the number of samples that the run
 * compared.
 */
export function effectOf(samples: readonly CutSample[], compared = samples.length): Effect {
  if (samples.every((one) => !(one.controls > 0))) return "unknown";
  if (samples.some((one) => one.p * compared <= level)) return "beyond";
  return samples.every((one) => leastP(one) * compared > level) ? "few" : "none";
}

/** Whether the verdict on edges is negative: no effect, or too few to tell. */
export const isNegative = (effect: Effect) => effect === "none" || effect === "few";

/** Returns the smallest p that these numbers of edges can give: that of all chosen edges above all controls. */
function leastP({ chosen, controls }: CutSample): number {
  if (Number.isNaN(chosen)) return 0;
  let least = 1;
  for (let i = 0; i < chosen; ++i) least *= (chosen - i) / (chosen + controls - i);
  return Math.min(1, 2 * least);
}

/** Returns the edges that were not controls, the largest effects first. */
export function strongestCuts(cuts: readonly Cut[]): Cut[] {
  return cuts
    .filter((cut) => cut.kind !== "control" && Number.isFinite(cut.effect))
    .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
}
