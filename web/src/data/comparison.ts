import type { Run } from "./run";

export type Verdict = "none" | "differs" | "untested";

/** Difference of one feature between two runs. */
export interface Difference {
  a: number;
  b: number;
  feature: string;
  meanA: number;
  meanB: number;
  difference: number;
  spread: number;
  pFamily: number;
  verdict: Verdict;
}

/** A number, or a curve sampled at x, for every run and input. */
export interface Feature {
  name: string;
  /** Empty for a number. */
  x: number[];
  /** [run][input][index in x] */
  samples: number[][][];
}

export interface ComparedRuns {
  names: string[];
  differences: Difference[];
  features: Feature[];
}

/** Returns null if the run has no comparison. */
export function readComparison(run: Run): ComparedRuns | null {
  const { comparison } = run.doc;
  if (!comparison) return null;
  const names = comparison.runs.map((one) => one.name);
  return { names, differences: readDifferences(run, names), features: readFeatures(run, names) };
}

function readDifferences(run: Run, names: string[]): Difference[] {
  const table = run.table("comparison");
  if (!table) return [];
  const verdict = (text: string): Verdict => (text === "differs" || text === "none" ? text : "untested");
  return Array.from({ length: table.rows }, (_, row) => ({
    a: names.indexOf(table.text("a", row)),
    b: names.indexOf(table.text("b", row)),
    feature: table.text("feature", row),
    meanA: table.number("mean_a", row),
    meanB: table.number("mean_b", row),
    difference: table.number("difference", row),
    spread: table.number("spread", row),
    pFamily: table.number("p_family", row),
    verdict: verdict(table.text("verdict", row)),
  })).filter((one) => one.a >= 0 && one.b >= 0);
}

function readFeatures(run: Run, names: string[]): Feature[] {
  const table = run.table("features");
  const features = new Map<string, Feature>();
  const inputs = new Map<string, number[]>();
  for (let row = 0; table && row < table.rows; ++row) {
    const at = names.indexOf(table.text("run", row));
    if (at < 0) continue;
    const name = table.text("feature", row);
    if (!features.has(name)) features.set(name, { name, x: [], samples: names.map(() => []) });
    const feature = features.get(name)!;
    const x = table.number("x", row);
    if (!Number.isNaN(x) && !feature.x.includes(x)) feature.x.push(x);
    const input = `${at} ${table.text("input", row)} ${name}`;
    if (!inputs.has(input)) {
      inputs.set(input, []);
      feature.samples[at]!.push(inputs.get(input)!);
    }
    inputs.get(input)![Number.isNaN(x) ? 0 : feature.x.indexOf(x)] = table.number("value", row);
  }
  return [...features.values()];
}

/** Returns the verdict on one feature as text. */
export function verdictText({ verdict, difference, spread }: Difference): string {
  if (verdict === "differs") return "differs";
  if (verdict === "untested") return "not tested: only one input";
  return Math.abs(difference) > spread ? "not significant" : "no difference beyond the spread";
}
