import type { Order } from "../data/pruning";
import { boxAt, drawLegend, formatNumber, type Box } from "../draw/axes";
import { inkOn } from "../draw/color";
import type { Surface } from "../draw/surface";
import { headTip, stepHead, type Context } from "../ui/context";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { HeadGrid } from "./grid";
import { criterionColor } from "./prune_labels";

/** Space next to and below a grid for its labels. */
const beside = 58;
const below = 62;

/** The heads that each criterion removes, on the grid of layers and heads. */
export class PruneGrids implements FigureSpec {
  readonly id = "prune-heads";
  readonly title = "Heads removed";
  readonly caption = "Numbers give the order in which heads are removed, up to the budget.";
  /** Index of the only criterion to show; null: all. */
  only: number | null = null;
  private readonly grid: HeadGrid;
  private boxes: Box[] = [];

  constructor(
    private readonly context: Context,
    private readonly orders: readonly Order[],
  ) {
    this.grid = new HeadGrid(context.run);
  }

  private shown(): Order[] {
    return this.only === null ? [...this.orders] : [this.orders[this.only]!];
  }
  private perRow(width: number): number {
    const count = this.shown().length;
    const fits = (across: number) => (width / across - beside) / this.grid.columns >= 20;
    for (let across = Math.min(6, count); across > 1; --across)
      if (fits(across)) return Math.ceil(count / Math.ceil(count / across));
    return Math.min(count, this.grid.columns > 20 ? 2 : 1);
  }
  private cell(width: number): number {
    return Math.min(34, (width / this.perRow(width) - beside) / this.grid.columns);
  }
  private gridHeight(width: number): number {
    return Math.min(this.cell(width), 26, Math.max(11, 420 / this.grid.rows)) * this.grid.rows;
  }
  describe(): string {
    const lists = this.shown().map(
      (order) =>
        `${order.criterion} removes ${order.heads
          .filter((one) => one.removed)
          .map((one) => one.head)
          .slice(0, 40)
          .join(" ")}`,
    );
    return `${lists.join("; ")}. Arrow keys move between heads.`;
  }
  height(width: number): number {
    const lines = Math.ceil(this.shown().length / this.perRow(width));
    return Math.ceil(lines * (this.gridHeight(width) + below) + 34);
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const shown = this.shown();
    const across = this.perRow(width);
    this.boxes = shown.map((_, i) => ({
      left: 44 + (i % across) * (width / across),
      top: 24 + Math.floor(i / across) * (this.gridHeight(width) + below),
      width: this.cell(width) * this.grid.columns,
      height: this.gridHeight(width),
    }));
    shown.forEach((order, i) => this.drawGrid(s, order, this.boxes[i]!, theme));
    const entries = [
      { color: shown.length === 1 ? criterionColor(shown[0]!.criterion) : theme.muted, label: "removed" },
      { color: theme.blank, label: "kept" },
    ];
    drawLegend(s, 44, height - 22, width - 60, entries, theme);
  }

  private drawGrid(s: Surface, order: Order, box: Box, theme: Theme): void {
    const { store } = this.context;
    const wide = box.width / this.grid.columns;
    const tall = box.height / this.grid.rows;
    const color = criterionColor(order.criterion);
    const place = new Map(order.heads.map((one, i) => [one.head, i] as const));
    s.text(order.criterion, box.left, box.top - 9, { weight: 600 });
    for (const head of this.grid.queryHeads()) {
      const at = place.get(head.name);
      const removed = at !== undefined && order.heads[at]!.removed;
      const { left: x, top: y } = this.grid.queryCell(head, box);
      const fill = removed ? color : theme.blank;
      s.rect(x + 0.5, y + 0.5, wide - 1, tall - 1, { fill, radius: wide > 14 ? 2 : 0 });
      if (removed && wide >= 17 && tall >= 12)
        s.text(String(at + 1), x + wide / 2, y + tall / 2 + 0.5, {
          anchor: "middle",
          baseline: "middle",
          size: 10,
          fill: inkOn(color),
        });
    }
    for (const head of this.grid.queryHeads()) {
      if (head.name !== store.state.head && head.name !== store.state.hover) continue;
      const { left, top } = this.grid.queryCell(head, box);
      s.rect(left, top, wide, tall, { stroke: theme.mark, width: 2.5, radius: 2 });
    }
    this.grid.drawLabels(s, box, theme);
  }

  /** Returns whether an order removes a head, and its rank. */
  private outcome(order: Order, name: string): string {
    const at = order.heads.findIndex((one) => one.head === name);
    const found = order.heads[at];
    if (!found) return "kept";
    if (found.zero) return "already zero";
    return found.removed ? `removed, rank ${at + 1}` : `kept, rank ${at + 1}`;
  }
  hit(x: number, y: number): Hit | null {
    const i = boxAt(this.boxes, x, y);
    const box = this.boxes[i];
    if (!box) return null;
    const head = this.grid.atQueryHead(x, y, box);
    if (!head) return null;
    const [name, ...rest] = headTip(this.context.run, head);
    const order = this.shown()[i]!;
    const score = order.heads.find((one) => one.head === head)?.score ?? NaN;
    return {
      head,
      tip: [
        name!,
        { label: order.criterion, value: this.outcome(order, head) },
        { label: "score", value: formatNumber(score, 4) },
        ...rest,
      ],
    };
  }
  key(key: string): string | null {
    const { run, store } = this.context;
    const next = stepHead(run, store.state.head, key, (head) => run.layers.band(head));
    if (next === null) return null;
    store.set({ head: next });
    return `${next}: ${this.shown()
      .map((order) => `${order.criterion}: ${this.outcome(order, next)}`)
      .join("; ")}`;
  }
  data() {
    const shown = this.shown();
    const heads = this.context.run.heads.filter((head) => !head.kv);
    const place = (order: Order, name: string) => order.heads.findIndex((one) => one.head === name && one.removed);
    return {
      columns: ["head", "layer", "index", ...shown.map((order) => `removed_by_${order.criterion}_as`)],
      rows: heads.map((head) => [
        head.name,
        head.layer,
        head.index,
        ...shown.map((order) => (place(order, head.name) < 0 ? null : place(order, head.name) + 1)),
      ]),
    };
  }
}
