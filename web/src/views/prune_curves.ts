import { interpolate, randomRange, type Measure, type Order, type PrunedModel, type Spread } from "../data/pruning";
import { maxOf, minOf } from "../data/stats";
import { drawAxes, formatNumber, linearScale, type Box, type Scale } from "../draw/axes";
import type { Surface } from "../draw/surface";
import type { Context } from "../ui/context";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { spreadApart } from "./labels";
import { criterionColor, damageLabel, measureLabels } from "./prune_labels";

/** Lines of criteria that are not structural are dashed. */
const dashes: Record<string, number[]> = { norm: [7, 4], alone: [2, 3], greedy: [9, 3, 2, 3] };

/** Damage over the number of heads removed: one line per criterion, the random orders as a band. */
export class PruneCurves implements FigureSpec {
  readonly id = "prune-curves";
  readonly title = "Damage by number of heads removed";
  readonly caption: string;
  measure: Measure = "damage";
  redraw: () => void = () => undefined;
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private x: Scale = linearScale([0, 1], [0, 1]);
  private y: Scale = linearScale([0, 1], [0, 1]);
  /** Position of the keyboard cursor. */
  private cursor: { order: number; point: number } | null = null;

  constructor(
    private readonly context: Context,
    private readonly pruned: PrunedModel,
  ) {
    const count = pruned.random.length;
    const all = pruned.controls.length;
    const which = all > count ? `the ${count} random orders, of ${all}, that have curves` : `${count} random orders`;
    const band = count > 0 ? ` Band: min to max of ${which}. Dashed line in the band: their median.` : "";
    this.caption = `Heads are removed in the order of each criterion, and the model is run.${band} A ring marks where the selected head is removed.`;
  }

  describe(): string {
    const ends = this.pruned.orders.map(
      (order) => `${order.criterion} ${formatNumber(order.points.at(-1)!.values[this.measure])}`,
    );
    const last = this.spread().at(-1);
    const chance = last
      ? `; ${this.pruned.random.length} random orders ${formatNumber(last.low)} to ${formatNumber(last.high)}`
      : "";
    return `${this.label()} with ${this.pruned.budget} heads removed: ${ends.join(", ")}${chance}. Arrow keys move along the curves.`;
  }
  height(width: number): number {
    return Math.round(Math.min(520, Math.max(380, width * 0.42)));
  }
  private label(): string {
    return this.measure === "damage" ? damageLabel(this.pruned) : measureLabels[this.measure]!;
  }
  private spread(): Spread[] {
    return randomRange(this.pruned.random, this.measure);
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const { budget, orders } = this.pruned;
    const spread = this.spread();
    const values = [
      ...orders.flatMap((order) => order.points.map((point) => point.values[this.measure])),
      ...spread.flatMap(({ low, high }) => [low, high]),
    ].filter(Number.isFinite);
    this.box = { left: 66, top: 14, width: width - 66 - 140, height: height - 72 };
    const { box } = this;
    const [low, high] = [minOf(values), maxOf(values)];
    const room = (high - low || 1) * 0.04;
    this.x = linearScale([0, budget], [box.left, box.left + box.width], Math.min(10, budget));
    this.x.ticks = this.x.ticks.filter(Number.isInteger);
    this.y = linearScale([low - room, high + room], [box.top + box.height, box.top], 6);
    drawAxes(s, box, this.x, this.y, { x: "heads removed", y: this.label() }, theme);
    this.drawRandom(s, spread, theme);
    this.drawUnpruned(s, theme);
    for (const order of orders) this.drawOrder(s, order);
    this.drawChosen(s, theme);
    this.drawCursor(s, theme);
    this.drawNames(s, spread, theme);
  }

  private drawRandom(s: Surface, spread: Spread[], theme: Theme): void {
    if (spread.length === 0) return;
    const at = (removed: number, value: number) => `${this.x(removed).toFixed(1)},${this.y(value).toFixed(1)}`;
    const upper = spread.map(({ removed, high }) => at(removed, high));
    const lower = [...spread].reverse().map(({ removed, low }) => at(removed, low));
    s.path(`M${[...upper, ...lower].join("L")}Z`, { fill: theme.faint, opacity: 0.22 });
    s.path(`M${spread.map(({ removed, middle }) => at(removed, middle)).join("L")}`, {
      stroke: theme.muted,
      width: 1.5,
      dash: [4, 3],
    });
  }

  private unpruned(): number {
    const any = this.pruned.orders[0] ?? this.pruned.random[0];
    return any?.points[0]?.values[this.measure] ?? NaN;
  }
  private drawUnpruned(s: Surface, theme: Theme): void {
    const y = this.y(this.unpruned());
    if (Number.isNaN(y)) return;
    s.line(this.box.left, y, this.box.left + this.box.width, y, { stroke: theme.ink, width: 1, dash: [1, 3] });
  }

  private drawOrder(s: Surface, order: Order): void {
    const points = order.points.filter((point) => Number.isFinite(point.values[this.measure]));
    if (points.length === 0) return;
    const line = points.map(
      ({ removed, values }) => `${this.x(removed).toFixed(1)},${this.y(values[this.measure]).toFixed(1)}`,
    );
    const stroke = criterionColor(order.criterion);
    s.path(`M${line.join("L")}`, { stroke, width: 2.25, dash: dashes[order.criterion] ?? [] });
    for (const { removed, values } of points)
      if (removed > 0) s.circle(this.x(removed), this.y(values[this.measure]), 2.75, { fill: stroke });
  }

  /** Marks where the chosen head is removed. */
  private drawChosen(s: Surface, theme: Theme): void {
    const { head, hover } = this.context.store.state;
    for (const order of this.pruned.orders) {
      for (const name of new Set([head, hover])) {
        const place = order.heads.findIndex((one) => one.head === name && one.removed);
        if (place < 0) continue;
        const y = this.y(interpolate(order, place + 1, this.measure));
        s.circle(this.x(place + 1), y, 6.5, { stroke: theme.mark, width: 2 });
      }
    }
  }
  private drawCursor(s: Surface, theme: Theme): void {
    const order = this.cursor ? this.pruned.orders[this.cursor.order] : undefined;
    const point = order?.points[this.cursor!.point];
    if (!point) return;
    const x = this.x(point.removed);
    s.line(x, this.box.top, x, this.box.top + this.box.height, { stroke: theme.muted, dash: [2, 2] });
    s.circle(x, this.y(point.values[this.measure]), 5, { stroke: theme.mark, width: 1.5 });
  }

  /** Draws the names at the ends of the lines, moved apart so that they do not overlap. */
  private drawNames(s: Surface, spread: Spread[], theme: Theme): void {
    const names = this.pruned.orders.map((order) => ({
      text: order.criterion,
      value: order.points.at(-1)!.values[this.measure],
      color: criterionColor(order.criterion),
    }));
    const last = spread.at(-1);
    if (last) names.push({ text: "random, median", value: last.middle, color: theme.muted });
    names.push({ text: "unpruned", value: this.unpruned(), color: theme.ink });
    const shown = names.filter((name) => Number.isFinite(name.value));
    const right = this.box.left + this.box.width;
    const places = spreadApart(
      shown.map((name) => this.y(name.value)),
      15,
      [this.box.top, this.box.top + this.box.height],
    );
    shown.forEach(({ text, value, color }, i) => {
      s.line(right + 3, this.y(value), right + 17, places[i]!, { stroke: color, width: 1, opacity: 0.8 });
      s.rect(right + 19, places[i]! - 4, 8, 8, { fill: color, radius: 2 });
      s.text(text, right + 32, places[i]! + 0.5, { baseline: "middle", fill: theme.ink });
    });
  }

  private tip(order: Order, point: number): Hit {
    const { removed, values } = order.points[point]!;
    const head = removed > 0 ? order.heads[removed - 1]?.head : undefined;
    const lines = this.pruned.measures.map((name) => ({
      label: name === "kl" ? "KL" : name,
      value: formatNumber(values[name]),
    }));
    const tip = [order.criterion, { label: "heads removed", value: String(removed) }, ...lines];
    return head ? { head, tip: [...tip, { label: "last head removed", value: head }] } : { tip };
  }
  hit(x: number, y: number): Hit | null {
    let best: Hit | null = null;
    let nearest = 10;
    for (const order of this.pruned.orders) {
      order.points.forEach((point, i) => {
        const distance = Math.hypot(this.x(point.removed) - x, this.y(point.values[this.measure]) - y);
        if (!(distance < nearest)) return;
        nearest = distance;
        best = this.tip(order, i);
      });
    }
    return best;
  }
  key(key: string): string | null {
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
    };
    const move = moves[key];
    const { orders } = this.pruned;
    if (!move || orders.length === 0) return null;
    const from = this.cursor ?? { order: 0, point: -1 };
    const order = (from.order + move[0] + orders.length) % orders.length;
    const point = Math.min(orders[order]!.points.length - 1, Math.max(0, from.point + move[1]));
    this.cursor = { order, point };
    const chosen = orders[order]!;
    const { removed, values } = chosen.points[point]!;
    this.redraw();
    return `${chosen.criterion}, ${removed} heads removed, ${this.measure} ${formatNumber(values[this.measure])}`;
  }

  data() {
    const { measures } = this.pruned;
    return {
      columns: ["criterion", "seed", "removed", ...measures],
      rows: [...this.pruned.orders, ...this.pruned.random].flatMap((order) =>
        order.points.map((point) => [
          order.criterion,
          Number.isNaN(order.seed) ? null : order.seed,
          point.removed,
          ...measures.map((name) => point.values[name]),
        ]),
      ),
    };
  }
}
