import type { Run } from "./run";
import { maxOf, minOf, median } from "./stats";
import type { Table } from "./table";

/** Measures of a pruned model. Damage is the measure by which prune compares criteria. */
export const measures = ["damage", "loss", "accuracy", "kl", "agreement", "change"] as const;
export type Measure = (typeof measures)[number];

export interface CurvePoint {
  removed: number;
  values: Record<Measure, number>;
}

export interface RankedHead {
  head: string;
  score: number;
  removed: boolean;
  /** The head was already zero before pruning. */
  zero: boolean;
}

/** Heads in the order in which a criterion removes them, and the resulting curve. */
export interface Order {
  criterion: string;
  /** Seed of a random order; NaN for other criteria. */
  seed: number;
  heads: RankedHead[];
  points: CurvePoint[];
}

/** Min, median and max of all random orders after `removed` heads. */
export interface Spread {
  removed: number;
  low: number;
  middle: number;
  high: number;
}

/** A random order at the full budget. */
export interface ControlOrder {
  values: Record<Measure, number>;
}

export interface PrunedModel {
  orders: Order[];
  /** The random orders that have curves. */
  random: Order[];
  /** All random orders, in the order in which they were drawn; without orders.csv, those that have curves. */
  controls: ControlOrder[];
  /** By criterion: orders that remove as many heads of each layer as it does. Empty if the run has none. */
  byLayer: Map<string, ControlOrder[]>;
  /** Number of heads to remove. */
  budget: number;
  /** Measures that have values. */
  measures: Measure[];
  /** Column from which damage is computed. */
  basis: "loss" | "kl" | "change";
}

const read = new WeakMap<Run, PrunedModel | null>();

/** Returns null if the run has no pruning. */
export function readPruning(run: Run): PrunedModel | null {
  if (!read.has(run)) read.set(run, parsePruning(run));
  return read.get(run)!;
}

function parsePruning(run: Run): PrunedModel | null {
  const ranking = run.table("ranking");
  const curve = run.table("curve");
  if (!ranking || !curve || curve.rows === 0) return null;
  const all = new Map<string, Order>();
  const order = (criterion: string, seed: number) => {
    const key = `${criterion} ${seed}`;
    if (!all.has(key)) all.set(key, { criterion, seed, heads: [], points: [] });
    return all.get(key)!;
  };
  for (let row = 0; row < ranking.rows; ++row)
    order(ranking.text("criterion", row), ranking.number("seed", row)).heads.push({
      head: ranking.text("head", row),
      score: ranking.number("score", row),
      removed: ranking.text("removed", row) === "yes",
      zero: ranking.text("zero_already", row) === "yes",
    });
  const stated = run.doc.prune?.measure;
  const found = (["loss", "kl", "change"] as const).find((name) => !Number.isNaN(curve.number(name, 0))) ?? "change";
  const basis = stated === "loss" || stated === "kl" || stated === "change" ? stated : found;
  for (let row = 0; row < curve.rows; ++row) {
    const { points } = order(curve.text("criterion", row), curve.number("seed", row));
    const number = (column: string) => curve.number(column, row);
    const before = points[0]?.values.loss ?? number("loss");
    points.push({
      removed: number("removed"),
      values: {
        damage: basis === "loss" ? number("loss") - before : number(basis),
        loss: number("loss"),
        accuracy: number("accuracy"),
        kl: number("kl"),
        agreement: number("agreement"),
        change: number("change"),
      },
    });
  }
  const complete = [...all.values()].filter((one) => one.points.length > 0);
  const points = complete.flatMap((one) => one.points);
  const random = complete.filter((one) => one.criterion === "random");
  const { plain, byLayer } = readControls(run.table("orders"));
  return {
    orders: complete.filter((one) => one.criterion !== "random"),
    random,
    controls: plain.length > 0 ? plain : random.map((one) => one.points.at(-1)!),
    byLayer,
    budget: maxOf(points.map((point) => point.removed)),
    measures: measures.filter((name) => points.some((point) => Number.isFinite(point.values[name]))),
    basis,
  };
}

/** Reads orders.csv. */
function readControls(table: Table | undefined): { plain: ControlOrder[]; byLayer: Map<string, ControlOrder[]> } {
  const plain: ControlOrder[] = [];
  const byLayer = new Map<string, ControlOrder[]>();
  for (let row = 0; table && row < table.rows; ++row) {
    const values = Object.fromEntries(measures.map((name) => [name, table.number(name, row)] as const));
    const order = { values: values as Record<Measure, number> };
    const criterion = table.text("criterion", row);
    if (table.text("control", row) === "random") plain.push(order);
    else byLayer.set(criterion, [...(byLayer.get(criterion) ?? []), order]);
  }
  return { plain, byLayer };
}

/** Computes min, median and max over the random orders, for each number of removed heads. */
export function randomRange(orders: readonly Order[], measure: Measure): Spread[] {
  const byBudget = new Map<number, number[]>();
  for (const { removed, values } of orders.flatMap((one) => one.points)) {
    if (!byBudget.has(removed)) byBudget.set(removed, []);
    byBudget.get(removed)!.push(values[measure]);
  }
  return [...byBudget]
    .sort(([a], [b]) => a - b)
    .map(([removed, values]) => ({ removed, low: minOf(values), middle: median(values), high: maxOf(values) }));
}

/** Returns a measure at the end of a curve, where the whole budget is used. */
export const atBudget = (order: Order, measure: Measure) => order.points.at(-1)?.values[measure] ?? NaN;

/** How a criterion compares with random orders. `p` is corrected for the number of criteria. */
export interface ControlTest {
  beaten: number;
  orders: number;
  p: number;
}

/** Number of orders that do no more damage after which prune draws no more. */
const enough = 10;

/**
 * Compares a criterion with random orders as prune does: p = (1 + orders that do no more damage) / (1 + orders), or
 * 10 / orders drawn until 10 do no more damage. Null without orders.
 */
export function compareWithOrders(
  pruned: PrunedModel,
  order: Order,
  controls: readonly ControlOrder[] | undefined,
): ControlTest | null {
  if (!controls || controls.length === 0) return null;
  const damage = atBudget(order, "damage");
  const asGood = controls.flatMap(({ values }, i) => (values.damage > damage ? [] : [i]));
  const settled = asGood[enough - 1];
  const p = settled === undefined ? (1 + asGood.length) / (1 + controls.length) : enough / (settled + 1);
  return {
    beaten: controls.length - asGood.length,
    orders: controls.length,
    p: Math.min(1, pruned.orders.length * p),
  };
}

/** Returns a measure after `removed` heads, linearly interpolated between the points of the curve. */
export function interpolate(order: Order, removed: number, measure: Measure): number {
  const after = order.points.findIndex((point) => point.removed >= removed);
  const right = order.points[after];
  const left = order.points[Math.max(0, after - 1)];
  if (!right || !left) return NaN;
  const part = right.removed > left.removed ? (removed - left.removed) / (right.removed - left.removed) : 1;
  return (1 - part) * left.values[measure] + part * right.values[measure];
}
