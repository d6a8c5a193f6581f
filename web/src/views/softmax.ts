import type { NumberArray } from "../data/array";
import type { Panel } from "../data/doc";
import type { Run } from "../data/run";
import type { Table } from "../data/table";
import { boxAt, drawColorBar, drawLegend, formatNumber, linearScale, type Box } from "../draw/axes";
import { categorical, lookup, viridis } from "../draw/color";
import { colorCells, minMax, orderedMatrix, range } from "../draw/heatmap";
import type { Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { select } from "../ui/controls";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { verdictOf } from "../ui/verdict";

/** A line of the dot plot: one value per head, and the control with shuffled trees if there is one. */
interface Strip {
  label: string;
  found: number[];
  control: number[];
}
interface Group {
  title: string;
  strips: Strip[];
}

const columnLabels: Record<string, string> = {
  first: "first order",
  second: "second order",
  affinity_query: "affinities of queries",
  affinity_key: "affinities of keys",
  rand_query: "Rand index of queries",
  rand_key: "Rand index of keys",
  cophenetic_query: "cophenetic, queries",
  cophenetic_key: "cophenetic, keys",
};

/** Groups the columns of invariance.csv by meaning. All other columns form one group. */
export function readGroups(table: Table): Group[] {
  const columns = table.numericColumns().filter((column) => !/_low$|_high$|^layer$|^index$/.test(column));
  const values = (column: string) => range(table.rows).map((row) => table.number(column, row));
  const control = (column: string) =>
    ["_shuffled", "_random", "_control"].map((end) => column + end).find((one) => columns.includes(one));
  const title = (column: string) => {
    if (column.startsWith("error")) return "relative error of the approximation";
    if (column.startsWith("alpha")) return "H\u00f6lder exponent";
    const agreement = /^(scores|softmax)_(softmax|approximation)_/.exec(column);
    return agreement ? `agreement of ${agreement[1]} and ${agreement[2]}` : "other values";
  };
  const groups = new Map<string, Group>();
  for (const column of columns) {
    if (/_(shuffled|random|control)$/.test(column)) continue;
    const name = title(column);
    if (!groups.has(name)) groups.set(name, { title: name, strips: [] });
    const controlColumn = control(column);
    const label = column.replace(/^(error|alpha)_/, "").replace(/^(scores|softmax)_(softmax|approximation)_/, "");
    groups.get(name)!.strips.push({
      label: columnLabels[label] ?? label.replaceAll("_", " "),
      found: values(column),
      control: controlColumn ? values(controlColumn) : [],
    });
  }
  return [...groups.values()];
}

export const softmax: View = {
  id: "softmax",
  title: "Softmax invariance",
  about:
    "Does the softmax preserve the organization of the scores? The figure shows the error of the paraproduct approximation, the H\u00f6lder exponents on the trees (a negative one means that no regularity was found), and the agreement of the trees before and after the softmax. One dot per head. Hollow dots: shuffled trees.",
  available: (run) => run.table("invariance") !== undefined || (run.doc.paraproducts ?? []).length > 0,
  async mount(section, context) {
    const { run, store } = context;
    const add = (spec: FigureSpec) => {
      const figure = new Figure(spec, store);
      context.figures.push(figure);
      section.append(figure.element);
      return figure;
    };
    const verdict = verdictOf(context, "softmax");
    if (verdict) section.append(verdict);
    if (run.table("invariance")) add(new Strips(context));
    if ((run.doc.paraproducts ?? []).length === 0) return;
    const panels = new Panels(run);
    const figure = add(panels);
    await panels.attach(figure, context);
  },
};

const rowHeight = 22;

class Strips implements FigureSpec {
  readonly id = "invariance";
  readonly title = "Invariance per head";
  private readonly groups: Group[];
  private readonly heads: string[];
  private dots: { x: number; y: number; head: string; label: string; value: number }[] = [];

  constructor(private readonly context: Context) {
    const table = context.run.table("invariance")!;
    this.groups = readGroups(table).filter((group) => group.strips.length > 0);
    this.heads = range(table.rows).map((row) => table.text("head", row));
  }

  private lines(): number {
    return this.groups.reduce((sum, group) => sum + group.strips.length, 0);
  }
  describe(): string {
    return `Values of ${this.heads.length} heads in ${this.groups.length} groups: ${this.groups.map((group) => group.title).join(", ")}.`;
  }
  height(): number {
    return this.lines() * rowHeight + this.groups.length * 62 + 30;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    this.dots = [];
    const left = 190;
    const wide = width - left - 30;
    let top = 4;
    this.groups.forEach((group, i) => {
      s.text(group.title, 8, top + 16, { weight: 600 });
      top += 26;
      const box = { left, top, width: wide, height: group.strips.length * rowHeight };
      this.drawGroup(s, group, box, categorical[i % 5]!, theme);
      top += box.height + 36;
    });
    drawLegend(s, left, height - 24, wide, [{ color: categorical[0]!, label: "head, computed trees" }], theme);
    s.circle(left + 198, height - 16, 3.5, { stroke: theme.muted, width: 1.25 });
    s.text("shuffled trees", left + 208, height - 13);
  }

  private drawGroup(s: Surface, group: Group, box: Box, color: string, theme: Theme): void {
    const all = group.strips.flatMap((strip) => [...strip.found, ...strip.control]).filter(Number.isFinite);
    const low = Math.min(0, ...all);
    const high = Math.max(low + 1e-9, ...all, group.title.startsWith("agreement") ? 1 : 0);
    const x = linearScale([low, high], [box.left, box.left + box.width], 8);
    for (const tick of x.ticks) {
      s.line(x(tick), box.top, x(tick), box.top + box.height, { stroke: theme.grid });
      s.text(x.format(tick), x(tick), box.top + box.height + 14, { anchor: "middle", fill: theme.muted, size: 11 });
    }
    const { head, hover } = this.context.store.state;
    group.strips.forEach((strip, i) => {
      const y = box.top + (i + 0.5) * rowHeight;
      s.text(strip.label, box.left - 12, y, { anchor: "end", baseline: "middle" });
      s.line(box.left, y, box.left + box.width, y, { stroke: theme.grid });
      strip.control.forEach(
        (value) =>
          Number.isFinite(value) && s.circle(x(value), y, 3.5, { stroke: theme.muted, width: 1, opacity: 0.7 }),
      );
      strip.found.forEach((value, k) => {
        if (!Number.isFinite(value)) return;
        const marked = this.heads[k] === head || this.heads[k] === hover;
        s.circle(x(value), y, marked ? 6 : 4, {
          fill: color,
          opacity: marked ? 1 : 0.6,
          ...(marked ? { stroke: theme.mark, width: 2 } : {}),
        });
        this.dots.push({ x: x(value), y, head: this.heads[k]!, label: `${group.title}: ${strip.label}`, value });
      });
    });
  }

  hit(x: number, y: number): Hit | null {
    const near = this.dots
      .filter((dot) => Math.hypot(dot.x - x, dot.y - y) < 7)
      .sort((a, b) => Math.hypot(a.x - x, a.y - y) - Math.hypot(b.x - x, b.y - y))[0];
    if (!near) return null;
    const none = near.label.startsWith("H\u00f6lder") && near.value < 0;
    const value = none ? "no regularity found" : formatNumber(near.value);
    return { head: near.head, tip: [near.head, { label: near.label, value }] };
  }
  data() {
    const table = this.context.run.table("invariance")!;
    return { columns: table.columns, rows: table.cells() };
  }
}

/** Scores, softmax and approximations of one head side by side. */
class Panels implements FigureSpec {
  readonly id = "paraproduct";
  readonly title = "Decomposition of one softmax";
  readonly caption =
    "The softmax and its approximations share one color scale. Values outside the scale have the color of its end.";
  private head: string;
  private arrays: NumberArray[] = [];
  private boxes: Box[] = [];
  private readonly colors = lookup(viridis);

  constructor(private readonly run: Run) {
    this.head = run.doc.paraproducts![0]!.head;
  }
  private panels(): Panel[] {
    return this.run.doc.paraproducts!.find((one) => one.head === this.head)?.panels ?? [];
  }
  async attach(figure: Figure, context: Context): Promise<void> {
    const heads = this.run.doc.paraproducts!.map(({ head }) => ({ value: head, label: head }));
    const load = async () => {
      this.arrays = await Promise.all(this.panels().map((panel) => this.run.array(panel.array)));
      figure.redraw();
    };
    const choose = select("Head", heads, this.head, (head) => context.store.set({ head }));
    figure.controls.append(choose.element);
    const follow = () => {
      const head = context.store.state.head;
      if (head === null || head === this.head || !heads.some((one) => one.value === head)) return;
      this.head = head;
      choose.value = head;
      void load();
    };
    context.store.subscribe((_, changed) => changed.has("head") && follow());
    follow();
    await load();
  }
  describe(): string {
    return `Panels of ${this.head}: ${this.panels()
      .map((panel) => panel.name)
      .join(", ")}.`;
  }
  private side(width: number): number {
    return Math.min(360, width / Math.max(1, this.panels().length) - 20);
  }
  height(width: number): number {
    return Math.round(this.side(width) + 84);
  }
  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    const side = this.side(width);
    this.boxes = this.panels().map((_, i) => ({ left: 6 + i * (side + 20), top: 26, width: side, height: side }));
    this.panels().forEach((panel, i) => {
      const array = this.arrays[i];
      const box = this.boxes[i]!;
      s.text(panel.name.replaceAll("_", " "), box.left, 16, { weight: 600 });
      if (!array) return;
      const [high, wide] = array.shape as [number, number];
      const value = orderedMatrix(array, range(high), range(wide));
      const power = /score|residual/.test(panel.name) ? 1 : 0.5;
      const ends = power === 1 ? minMax(high, wide, value) : this.softmaxEnds(value, high, wide);
      s.cells(
        colorCells(high, wide, value, ends, this.colors, power),
        box.left,
        box.top,
        side,
        (side * high) / Math.max(high, wide),
      );
      s.rect(box.left, box.top, side, (side * high) / Math.max(high, wide), { stroke: theme.axis });
      drawColorBar(
        s,
        box.left,
        box.top + side + 6,
        power === 1 ? "value" : "value (square root scale)",
        [formatNumber(ends[0]), formatNumber(ends[1])],
        viridis,
        theme,
        Math.min(140, side),
      );
    });
  }
  /** Returns the scale shared by the softmax and its approximations: from 0 to the max of the softmax. */
  private softmaxEnds(value: (row: number, column: number) => number, rows: number, columns: number): [number, number] {
    const at = this.panels().findIndex((panel) => panel.name === "softmax");
    const array = this.arrays[at];
    if (!array) return [0, minMax(rows, columns, value)[1]];
    const [high, wide] = array.shape as [number, number];
    return [0, minMax(high, wide, orderedMatrix(array, range(high), range(wide)))[1]];
  }
  hit(x: number, y: number): Hit | null {
    const i = boxAt(this.boxes, x, y);
    const box = this.boxes[i];
    const array = this.arrays[i];
    if (!box || !array) return null;
    const [high, wide] = array.shape as [number, number];
    const row = Math.floor(((y - box.top) / box.height) * Math.max(high, wide));
    const column = Math.floor(((x - box.left) / box.width) * wide);
    if (row >= high) return null;
    return {
      tip: [this.panels()[i]!.name, { label: `${row}, ${column}`, value: formatNumber(array.at(row * wide + column)) }],
    };
  }
  data() {
    const rows = this.panels().flatMap((panel, i) => {
      const array = this.arrays[i];
      if (!array) return [];
      const [high, wide] = array.shape as [number, number];
      return range(high).flatMap((r) => range(wide).map((c) => [panel.name, r, c, array.at(r * wide + c)]));
    });
    return { columns: ["panel", "row", "column", "value"], rows };
  }
}
