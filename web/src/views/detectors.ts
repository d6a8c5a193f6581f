import type { Run } from "../data/run";
import type { Table } from "../data/table";
import { formatNumber } from "../draw/axes";
import type { View } from "../ui/context";
import { segmented } from "../ui/controls";
import { Figure } from "../ui/figure";
import { verdictOf } from "../ui/verdict";
import { HeadValuesFigure, type HeadValues } from "./head_values";

/** Score of a head at one length of the sequences. `sd` (over sequences) is NaN if the run does not state it. */
export interface DetectorScore {
  head: string;
  score: number;
  sd: number;
  /** The head reaches the threshold, at all lengths. */
  detected: boolean;
  /** The head reaches the threshold at only one of the lengths. */
  once: boolean;
}

/** Scores of a detector. `second` is empty if the run has only one length. */
export interface Detector {
  name: string;
  scores: DetectorScore[];
  second: DetectorScore[];
}

const notScores = /^(layer|index)$|threshold|_sd$|_second$/;

export function readDetectors(run: Run): Detector[] {
  const table = run.table("detectors");
  if (!table) return [];
  return table
    .numericColumns()
    .filter((column) => !notScores.test(column))
    .map((name) => ({
      name,
      scores: scoresOf(table, name, name),
      second: table.has(`${name}_second`) ? scoresOf(table, name, `${name}_second`) : [],
    }));
}

function scoresOf(table: Table, name: string, column: string): DetectorScore[] {
  const named = (list: string, row: number) => table.text(list, row).split(" ").includes(name);
  return Array.from({ length: table.rows }, (_, row) => ({
    head: table.text("head", row),
    score: table.number(column, row),
    sd: table.number(`${column}_sd`, row),
    detected: named("detected", row),
    once: named("at_one_length", row),
  })).filter((one) => Number.isFinite(one.score));
}

/** Returns the lengths of the sequences in tokens; empty if the run does not state them. */
function lengths(run: Run): number[] {
  const table = run.table("detector_lengths");
  return [...new Set(Array.from({ length: table?.rows ?? 0 }, (_, row) => table!.number("length", row)))];
}

/** Formats a score with its spread over sequences: "0.93 \u00b1 0.02". */
function scoreText(one: DetectorScore | undefined): string {
  if (!one) return "\u2013";
  return formatNumber(one.score) + (Number.isNaN(one.sd) ? "" : ` \u00b1 ${formatNumber(one.sd, 2)}`);
}

/** Returns the scores at the first or the second length. Tooltips show both. */
function headValues(run: Run, second: boolean): HeadValues[] {
  const [first, other] = lengths(run);
  return readDetectors(run).map((detector) => {
    const shown = second ? detector.second : detector.scores;
    const at = new Map(detector.second.map((one) => [one.head, one]));
    const note = (one: DetectorScore) => {
      if (detector.second.length === 0) return scoreText(one);
      const both = `${scoreText(one)} at ${first ?? "first length"}, ${scoreText(at.get(one.head))} at ${other ?? "second length"}`;
      return one.once ? `${both}; passes at one length only` : both;
    };
    return {
      label: detector.name.replaceAll("_", " "),
      values: new Map(shown.map((one) => [one.head, one.score])),
      notes: new Map(detector.scores.map((one) => [one.head, note(one)])),
      ends: [0, 1],
    };
  });
}

/** Returns a sentence with the threshold, and the score of a head that attends to all tokens alike. */
function thresholds(run: Run): string {
  const table = run.table("detectors");
  const found = (table?.columns ?? []).filter((column) => column.includes("threshold"));
  const values = found.map((column) => `${column.replaceAll("_", " ")} ${table!.text(column, 0)}`);
  const where = readDetectors(run).some((one) => one.second.length > 0) ? " at both lengths of the sequences" : "";
  const passes = values.length > 0 ? ` A head is of a kind if its score reaches the ${values.join(", ")}${where}.` : "";
  return passes + chance(run);
}

function chance(run: Run): string {
  const table = run.table("detector_lengths");
  const values = Array.from({ length: table?.rows ?? 0 }, (_, row) => table!.number("chance", row));
  return values.length > 0 ? ` Uniform attention scores at most ${formatNumber(Math.max(...values), 2)}.` : "";
}

export const detectors: View = {
  id: "detectors",
  title: "Detectors",
  about:
    "Behavior of heads, scored from their attention: the mean weight on the tokens that a head of this kind attends to, from 0 to 1.",
  available: (run) => readDetectors(run).length > 0,
  mount(section, context) {
    const { run, store } = context;
    const about = section.querySelector(".about");
    if (about) about.textContent += thresholds(run);
    const verdict = verdictOf(context, "detect");
    if (verdict) section.append(verdict);
    let shown = headValues(run, false);
    const figure = new Figure(
      new HeadValuesFigure("detectors", "Behavior per head", context, () => shown, "mean attention"),
      store,
    );
    const [first, other] = lengths(run);
    if (first !== undefined && other !== undefined)
      figure.controls.append(
        segmented(
          "Tokens per sequence",
          [
            { value: "first", label: String(first) },
            { value: "second", label: String(other) },
          ],
          "first",
          (value) => {
            shown = headValues(run, value === "second");
            figure.redraw();
          },
        ),
      );
    context.figures.push(figure);
    section.append(figure.element);
  },
};
