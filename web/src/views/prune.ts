import {
  atBudget,
  compareWithOrders,
  readPruning,
  type ControlTest,
  type Measure,
  type Order,
  type PrunedModel,
} from "../data/pruning";
import type { Run } from "../data/run";
import { maxOf, minOf } from "../data/stats";
import type { Cell } from "../data/table";
import { formatNumber } from "../draw/axes";
import type { Context, View } from "../ui/context";
import { select, segmented } from "../ui/controls";
import { el } from "../ui/dom";
import { Figure, type FigureSpec } from "../ui/figure";
import { tableCard } from "../ui/table_card";
import { verdictOf } from "../ui/verdict";
import { PruneCurves } from "./prune_curves";
import { PruneGrids } from "./prune_grids";
import { PruneRanking } from "./prune_ranking";
import { criterionBasis } from "./prune_labels";

export const prune: View = {
  id: "prune",
  title: "Pruning",
  about:
    "Damage to the model when heads are removed in the order of each criterion, measured by running the model. Random orders show the damage to expect by chance.",
  available: (run) => readPruning(run) !== null,
  mount(section, context) {
    const { run, store } = context;
    const pruned = readPruning(run)!;
    const add = (spec: FigureSpec) => {
      const figure = new Figure(spec, store);
      context.figures.push(figure);
      section.append(figure.element);
      return figure;
    };
    const said = run.doc.prune?.said;
    const verdict = verdictOf(context, "prune") ?? (said ? el("div", { class: "verdict" }, el("p", {}, said)) : null);
    if (verdict) section.append(verdict);
    const curves = new PruneCurves(context, pruned);
    const figure = add(curves);
    curves.redraw = () => figure.redraw();
    figure.controls.append(
      segmented(
        "Measure",
        pruned.measures.map((value) => ({ value, label: value === "kl" ? "KL" : value })),
        curves.measure,
        (value) => {
          curves.measure = value as typeof curves.measure;
          figure.redraw();
        },
      ),
    );
    section.append(verdicts(run, pruned));
    addRankings(add, context, pruned);
  },
};

/** Adds the figures that show which heads are removed, and their scores. */
function addRankings(add: (spec: FigureSpec) => Figure, context: Context, pruned: PrunedModel): void {
  const orders = pruned.orders.length > 0 ? pruned.orders : pruned.random.slice(0, 1);
  const name = (at: number) => orders[at]!.criterion;
  const grids = new PruneGrids(context, orders);
  const figure = add(grids);
  const options = orders.map((_, at) => ({ value: String(at), label: name(at) }));
  if (orders.length > 1)
    figure.controls.append(
      select("Criterion", [{ value: "all", label: "all" }, ...options], "all", (value) => {
        grids.only = value === "all" ? null : Number(value);
        figure.redraw();
      }).element,
    );
  if (pruned.orders.length === 0) return;
  // Start with the structural criterion that does the least damage.
  const structural = orders.filter((order) => context.run.doc.prune?.structural.includes(order.criterion));
  const shown = (structural.length > 0 ? structural : orders).reduce((a, b) =>
    atBudget(b, "damage") < atBudget(a, "damage") ? b : a,
  );
  const ranking = new PruneRanking(context, shown);
  const bars = add(ranking);
  bars.controls.append(
    select("Criterion", options, String(orders.indexOf(shown)), (value) => {
      ranking.order = orders[Number(value)]!;
      bars.redraw();
    }).element,
  );
}

/** Table of all criteria at the full budget, compared with all random orders. */
function verdicts(run: Run, pruned: PrunedModel): HTMLElement {
  const { controls, byLayer } = pruned;
  const measured = pruned.measures.filter((name) => name !== "damage");
  const orders = [...pruned.orders].sort((a, b) => atBudget(a, "damage") - atBudget(b, "damage"));
  const tested = (order: Order): Cell[] => [
    ...(controls.length > 0 ? testCells(compareWithOrders(pruned, order, controls)) : []),
    ...(byLayer.size > 0 ? testCells(compareWithOrders(pruned, order, byLayer.get(order.criterion))) : []),
  ];
  const rows: Cell[][] = orders.map((order) => [
    order.criterion,
    criterionBasis[order.criterion] ?? "",
    ...[atBudget(order, "damage"), ...measured.map((name) => atBudget(order, name))],
    ...tested(order),
  ]);
  const columns = [
    ...["criterion", "based on", "damage", ...measured.map((name) => (name === "kl" ? "KL" : name))],
    ...(controls.length > 0 ? ["random orders beaten", "p"] : []),
    ...(byLayer.size > 0 ? ["matched by layer beaten", "p by layer"] : []),
  ];
  const padded = (row: Cell[]) => [...row, ...columns.slice(row.length).map(() => "")];
  const any = pruned.orders[0] ?? pruned.random[0]!;
  rows.unshift(padded(["nothing removed", "", 0, ...measured.map((name) => any.points[0]!.values[name])]));
  if (controls.length > 0) {
    const range = (name: Measure) => {
      const values = controls.map((order) => order.values[name]);
      return `${formatNumber(minOf(values))} to ${formatNumber(maxOf(values))}`;
    };
    rows.push(padded(["random", criterionBasis.random!, range("damage"), ...measured.map(range)]));
  }
  return tableCard({
    name: "prune-verdicts",
    title: `With ${pruned.budget} heads removed`,
    about: `${inputsSentence(run)} ${ordersSentence(pruned)}`.trim(),
    columns,
    rows,
    digits: 3,
  });
}

const testCells = (test: ControlTest | null): Cell[] =>
  test ? [`${test.beaten} of ${test.orders}`, Number(test.p.toPrecision(3))] : ["", ""];

/** Says which random orders the table counts. */
function ordersSentence({ controls, random, byLayer, orders }: PrunedModel): string {
  if (controls.length === 0) return "";
  const counted =
    controls.length > random.length
      ? `The table counts all ${controls.length} random orders; ${random.length} of them have curves.`
      : `The table counts the ${controls.length} random orders that have curves.`;
  const matched = byLayer.size > 0 ? " Matched by layer: as many heads of each layer as the criterion removes." : "";
  const corrected = orders.length > 1 ? ` p is corrected for ${orders.length} criteria.` : "";
  return counted + matched + corrected;
}

function inputsSentence(run: Run): string {
  const result = run.doc.prune;
  if (!result) return "";
  const inputs = (count: number, which = "") => `${count} ${which}input${count === 1 ? "" : "s"}`;
  const total = `The model has ${result.heads} heads. ${result.replacement_note}`.trimEnd();
  return result.held_out
    ? `${total} Heads were chosen on ${inputs(result.chosen_on)}; damage was measured on ${inputs(result.measured_on, "other ")}.`
    : `${total} Heads were chosen and damage was measured on the same ${inputs(result.measured_on)}. This favors criteria based on measured damage.`;
}
