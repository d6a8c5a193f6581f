import { atBudget, beaten, readPruning, type PrunedModel } from "../data/pruning";
import type { Run } from "../data/run";
import { largest, least } from "../data/stats";
import type { Cell } from "../data/table";
import { formatNumber } from "../draw/axes";
import type { Context, View } from "../ui/context";
import { select, segmented } from "../ui/controls";
import { el } from "../ui/dom";
import { Figure, type FigureSpec } from "../ui/figure";
import { tableCard } from "../ui/table_card";
import { PruneCurves } from "./prune_curves";
import { PruneGrids } from "./prune_grids";
import { PruneRanking } from "./prune_ranking";
import { kinds } from "./prune_words";

export const prune: View = {
  id: "prune",
  title: "Pruning",
  about:
    "What the model loses as heads are removed, in the order of every criterion, measured by running it; random orders say what chance does.",
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
    if (said) section.append(el("p", { class: "verdict" }, said));
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

/** Which heads go, and why. */
function addRankings(add: (spec: FigureSpec) => Figure, context: Context, pruned: PrunedModel): void {
  const orders = pruned.orders.length > 0 ? pruned.orders : pruned.random.slice(0, 1);
  const name = (at: number) => orders[at]!.criterion;
  const grids = new PruneGrids(context, orders);
  const figure = add(grids);
  const options = orders.map((_, at) => ({ value: String(at), label: name(at) }));
  if (orders.length > 1)
    figure.controls.append(
      select("Criterion", [{ value: "all", label: "each" }, ...options], "all", (value) => {
        grids.only = value === "all" ? null : Number(value);
        figure.redraw();
      }).element,
    );
  if (pruned.orders.length === 0) return;
  // The best that goes by structure is what the page is about.
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

/** Every criterion where the budget is used up. */
function verdicts(run: Run, pruned: PrunedModel): HTMLElement {
  const measured = pruned.measures.filter((name) => name !== "damage");
  const orders = [...pruned.orders].sort((a, b) => atBudget(a, "damage") - atBudget(b, "damage"));
  const rows: Cell[][] = orders.map((order) => [
    order.criterion,
    kinds[order.criterion] ?? "",
    atBudget(order, "damage"),
    ...measured.map((name) => atBudget(order, name)),
    ...(pruned.random.length > 0 ? [`${beaten(pruned, order)} of ${pruned.random.length}`] : []),
  ]);
  const any = pruned.orders[0] ?? pruned.random[0]!;
  rows.unshift([
    "nothing removed",
    "",
    0,
    ...measured.map((name) => any.points[0]!.values[name]),
    ...(pruned.random.length > 0 ? [""] : []),
  ]);
  if (pruned.random.length > 0) {
    const range = (name: (typeof pruned.measures)[number]) => {
      const values = pruned.random.map((order) => atBudget(order, name));
      return `${formatNumber(least(values))} to ${formatNumber(largest(values))}`;
    };
    rows.push(["random", kinds.random!, range("damage"), ...measured.map(range), ""]);
  }
  const columns = [
    "criterion",
    "goes by",
    "damage",
    ...measured.map((name) => (name === "kl" ? "KL" : name)),
    ...(pruned.random.length > 0 ? ["random orders beaten"] : []),
  ];
  return tableCard({
    name: "prune-verdicts",
    title: `With ${pruned.budget} heads removed`,
    about: inputsSentence(run),
    columns,
    rows,
    digits: 3,
  });
}

function inputsSentence(run: Run): string {
  const told = run.doc.prune;
  if (!told) return "";
  const inputs = (count: number) => `${count} input${count === 1 ? "" : "s"}`;
  return told.held_out
    ? `Of ${told.heads} heads. Chosen on ${inputs(told.chosen_on)}, measured on ${told.measured_on} others.`
    : `Of ${told.heads} heads. Chosen and measured on the same ${inputs(told.measured_on)}, which flatters what goes by measured damage.`;
}
