import { readComparison, verdictText, type ComparedRuns } from "../data/comparison";
import type { Comparison } from "../data/doc";
import type { View } from "../ui/context";
import { select } from "../ui/controls";
import { el } from "../ui/dom";
import { Figure, type FigureSpec } from "../ui/figure";
import { tableCard } from "../ui/table_card";
import { verdictOf } from "../ui/verdict";
import { CompareCurves } from "./compare_curves";
import { CompareDifferences } from "./compare_differences";
import { CompareDistances } from "./compare_distances";
import { CompareMatrices } from "./compare_matrices";
import { CompareStrips, isShared } from "./compare_strips";

/** The pair of runs shown in detail. */
export interface ChosenPair {
  a: number;
  b: number;
  changed: () => void;
}

/** Max number of verdicts in the list. */
const maxVerdicts = 10;

export const compare: View = {
  id: "compare",
  title: "Comparison",
  about:
    "Compares runs: how the organization of their attention differs, and whether the difference exceeds the spread over inputs.",
  available: (run) => run.doc.comparison !== undefined,
  async mount(section, context) {
    const { run, store } = context;
    const comparison = run.doc.comparison!;
    const compared = readComparison(run)!;
    const make = (spec: FigureSpec) => {
      const figure = new Figure(spec, store);
      context.figures.push(figure);
      return figure;
    };
    const verdict = verdictOf(context, "compare");
    // The verdict of compare lists the pairs, too; older runs have none.
    section.append(...(verdict ? [verdict] : []), runList(comparison), ...(verdict ? [] : [verdictList(comparison)]));
    const pair: ChosenPair = { a: 0, b: 1, changed: () => undefined };
    const distances = make(new CompareDistances(comparison, pair));
    const listed = new CompareDifferences(compared, pair);
    const differences = make(listed);
    listed.redraw = () => differences.redraw();
    const table = el("div", {});
    const showTable = () => table.replaceChildren(differenceTable(comparison, compared, pair));
    const chosen = pairSelect(comparison, pair);
    pair.changed = () => {
      distances.redraw();
      differences.redraw();
      chosen.value = `${pair.a} ${pair.b}`;
      showTable();
    };
    differences.controls.append(chosen.element);
    section.append(el("div", { class: "pair" }, distances.element, differences.element), table);
    showTable();
    if (compared.features.some((feature) => feature.x.length > 1))
      section.append(make(new CompareCurves(compared)).element);
    if (compared.features.some(isShared)) section.append(make(new CompareStrips(compared)).element);
    if (comparison.axes.length === 0) return;
    const matrices = new CompareMatrices(context, comparison);
    const figure = make(matrices);
    section.append(figure.element);
    await matrices.attach(figure);
  },
};

/** Lists the runs: "0. first half: text, 32 heads, 12 inputs of 64 tokens". */
function runList(comparison: Comparison): HTMLElement {
  const items = comparison.runs.map(({ name, kind, inputs, heads, tokens }) => {
    const size = inputs > 0 ? `, ${heads} heads, ${inputs} input${inputs === 1 ? "" : "s"} of ${tokens} tokens` : "";
    return el("li", {}, el("strong", {}, el("bdi", {}, name)), `: ${kind}${size}`);
  });
  return el("ol", { class: "runs", start: "0" }, ...items);
}

function verdictList(comparison: Comparison): HTMLElement {
  const name = (at: number) => el("bdi", {}, comparison.runs[at]!.name);
  const items = comparison.pairs
    .slice(0, maxVerdicts)
    .map(({ a, b, verdict }) => el("li", {}, name(a), " and ", name(b), `: ${verdict}.`));
  const left = comparison.pairs.length - items.length;
  if (left > 0) items.push(el("li", {}, `${left} more pairs are not listed here. Select them below.`));
  return el("ul", { class: "story verdicts" }, ...items);
}

function pairSelect(comparison: Comparison, pair: ChosenPair) {
  const options = comparison.pairs.map(({ a, b }) => ({
    value: `${a} ${b}`,
    label: `${comparison.runs[a]!.name} \u2013 ${comparison.runs[b]!.name}`,
  }));
  return select("Runs", options, `${pair.a} ${pair.b}`, (value) => {
    [pair.a, pair.b] = value.split(" ").map(Number) as [number, number];
    pair.changed();
  });
}

function differenceTable(comparison: Comparison, compared: ComparedRuns, pair: ChosenPair): HTMLElement {
  const found = compared.differences.filter((one) => one.a === pair.a && one.b === pair.b);
  const verdict = comparison.pairs.find((one) => one.a === pair.a && one.b === pair.b)?.verdict ?? "";
  const [a, b] = [compared.names[pair.a]!, compared.names[pair.b]!];
  return tableCard({
    name: "difference-table",
    title: `${a} and ${b}: ${verdict}`,
    about:
      "Means over inputs. For a curve, the mean is also over its points, and the difference is a root mean square.",
    columns: ["feature", a, b, "difference", "spread over inputs", "p (family-wise)", "verdict"],
    rows: found.map((one) => [
      one.feature,
      one.meanA,
      one.meanB,
      one.difference,
      Number.isNaN(one.spread) ? null : one.spread,
      Number.isNaN(one.pFamily) ? null : one.pFamily,
      verdictText(one),
    ]),
    digits: 3,
  });
}
