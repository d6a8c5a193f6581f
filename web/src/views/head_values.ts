import type { Block } from "../data/head";
import { boxAt, drawColorBar, formatNumber, type Box } from "../draw/axes";
import { cividis, inkOn } from "../draw/color";
import type { Surface } from "../draw/surface";
import { headTip, stepHead, type Context } from "../ui/context";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { HeadGrid } from "./grid";

/** One number per head. */
export interface HeadValues {
  label: string;
  values: Map<string, number>;
  /** Ends of the color scale; default: min and max of the values. */
  ends?: [number, number];
  /** Heads whose value is not beyond chance; they are drawn in gray. */
  unsure?: Set<string>;
  /** More about a value, for the tooltip. */
  notes?: Map<string, string>;
}

/** Space below a grid for its labels and color bar. */
const below = 112;

/** Numbers per head on grids of layers and heads, several grids side by side. */
export class HeadValuesFigure implements FigureSpec {
  private readonly grid: HeadGrid;
  private boxes: Box[] = [];

  constructor(
    readonly id: string,
    readonly title: string,
    private readonly context: Context,
    /** Called for every drawing. */
    private readonly all: () => HeadValues[],
    private readonly unit: string,
  ) {
    this.grid = new HeadGrid(context.run, this.blocks());
  }

  /** The blocks of layers with a value; analyses of maps are of one block. */
  private blocks(): Block[] {
    const { run } = this.context;
    const valued = new Set(this.all().flatMap(({ values }) => [...values.keys()].map((name) => run.head(name)?.block)));
    return run.layers.blocks.filter((block) => valued.has(block));
  }
  private perRow(width: number): number {
    const fits = (across: number) => (width / across - 64) / this.grid.columns >= 22;
    const count = this.all().length;
    for (let across = Math.min(5, count); across > 1; --across)
      if (fits(across)) return Math.ceil(count / Math.ceil(count / across));
    return Math.min(count, this.grid.columns > 20 ? 2 : 1);
  }
  private cell(width: number): number {
    return Math.min(46, (width / this.perRow(width) - 64) / this.grid.columns);
  }
  private gridHeight(width: number): number {
    return Math.min(this.cell(width), 26, Math.max(11, 420 / this.grid.rows)) * this.grid.rows;
  }
  describe(): string {
    const best = this.all().map(({ label, values }) => {
      const top = [...values].sort((a, b) => b[1] - a[1])[0];
      return top ? `${label} highest in ${top[0]}, ${formatNumber(top[1], 2)}` : label;
    });
    return `${this.title}: ${best.join("; ")}. Arrow keys move between heads.`;
  }
  height(width: number): number {
    const lines = Math.ceil(this.all().length / this.perRow(width));
    return Math.ceil(lines * (this.gridHeight(width) + below));
  }

  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    const across = this.perRow(width);
    const step = width / across;
    this.boxes = this.all().map((_, i) => ({
      left: 44 + (i % across) * step,
      top: 24 + Math.floor(i / across) * (this.gridHeight(width) + below),
      width: this.cell(width) * this.grid.columns,
      height: this.gridHeight(width),
    }));
    this.all().forEach((one, i) => this.drawGrid(s, one, this.boxes[i]!, theme));
  }

  private ends({ ends, values }: HeadValues): [number, number] {
    if (ends) return ends;
    const low = Math.min(...values.values());
    return [low, Math.max(low + 1e-12, ...values.values())];
  }

  private drawGrid(s: Surface, one: HeadValues, box: Box, theme: Theme): void {
    const { store } = this.context;
    const [low, high] = this.ends(one);
    const wide = box.width / this.grid.columns;
    const tall = box.height / this.grid.rows;
    s.text(one.label, box.left, box.top - 9, { weight: 600 });
    for (const head of this.grid.queryHeads()) {
      const value = one.values.get(head.name);
      const { left: x, top: y } = this.grid.queryCell(head, box);
      const unsure = one.unsure?.has(head.name) === true;
      const fill = value === undefined || unsure ? theme.blank : cividis((value - low) / (high - low));
      s.rect(x + 0.5, y + 0.5, wide - 1, tall - 1, {
        fill,
        opacity: value === undefined ? 0.4 : unsure ? 0.7 : 1,
        radius: wide > 14 ? 2 : 0,
      });
      if (value !== undefined && wide >= 28 && tall >= 14) {
        const style = { anchor: "middle", baseline: "middle", size: 10 } as const;
        const ink = unsure ? theme.muted : inkOn(fill);
        s.text(low >= 0 && high <= 1 ? value.toFixed(2) : formatNumber(value, 2), x + wide / 2, y + tall / 2, {
          ...style,
          fill: ink,
        });
      }
    }
    for (const head of this.grid.queryHeads()) {
      if (head.name !== store.state.head && head.name !== store.state.hover) continue;
      const cell = this.grid.queryCell(head, box);
      s.rect(cell.left, cell.top, wide, tall, {
        stroke: theme.mark,
        width: 2.5,
        radius: 2,
      });
    }
    this.grid.drawLabels(s, box, theme);
    drawColorBar(
      s,
      box.left,
      box.top + box.height + 40,
      this.unit,
      [formatNumber(low), formatNumber(high)],
      cividis,
      theme,
      Math.min(150, Math.max(90, box.width)),
    );
  }

  hit(x: number, y: number): Hit | null {
    const i = boxAt(this.boxes, x, y);
    const box = this.boxes[i];
    if (!box) return null;
    const head = this.grid.atQueryHead(x, y, box);
    const one = this.all()[i]!;
    if (!head) return null;
    const [name, ...rest] = headTip(this.context.run, head);
    return {
      head,
      tip: [
        name!,
        { label: one.label, value: one.notes?.get(head) ?? formatNumber(one.values.get(head) ?? NaN, 4) },
        ...rest,
      ],
    };
  }
  key(key: string): string | null {
    const { run, store } = this.context;
    const next = stepHead(run, store.state.head, key, (head) => run.layers.band(head));
    if (next === null) return null;
    store.set({ head: next });
    return `${next}: ${this.all()
      .map(({ label, values, notes }) => `${label} ${notes?.get(next) ?? formatNumber(values.get(next) ?? NaN, 2)}`)
      .join(", ")}`;
  }
  data() {
    const all = this.all();
    const heads = this.context.run.heads.filter((head) => !head.kv);
    return {
      columns: ["head", "layer", "index", ...all.map((one) => one.label)],
      rows: heads.map((head) => [
        head.name,
        head.layer,
        head.index,
        ...all.map((one) => one.values.get(head.name) ?? null),
      ]),
    };
  }
}
