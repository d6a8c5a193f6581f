import type { NumberArray } from "../data/array";
import type { PackedArray } from "../data/doc";
import { precedes, type Head } from "../data/head";
import { blockName } from "../data/layers";
import type { Edge, Run } from "../data/run";
import { countOf, countSentence, standingLabels, type Standing } from "../data/significance";
import { drawColorBar, formatNumber, type Box } from "../draw/axes";
import { grays, lookup, viridis } from "../draw/color";
import { colorCells, minMax, orderedMatrix, range } from "../draw/heatmap";
import { LayerCache, type Cells, type Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { segmented, select } from "../ui/controls";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { EdgeFilter } from "../ui/store";
import type { Theme } from "../ui/theme";
import type { TipLine } from "../ui/tooltip";
import { edgeTip, filterEdges, filterNote, wantedHeads } from "./edges";
import { labelStep } from "./grid";

/** A matrix of heads that can be shown. */
interface Choice {
  value: string;
  label: string;
  rows: Head[];
  columns: Head[];
  array: PackedArray;
  /** The pair of roles whose edges the run contains, if they are edges of this matrix. */
  pair: string | null;
  /** Rows and columns are the same subspaces, so the diagonal contains no information. */
  same: boolean;
}

function choices(run: Run): Choice[] {
  const found: Choice[] = [];
  // Edges are pairs of heads by the first metric.
  const first = run.doc.affinities?.[0]?.metric;
  for (const one of run.doc.affinities ?? []) {
    if (!one.array) continue;
    found.push({
      value: `${one.metric}_${one.pair}`,
      label: `${one.metric} ${one.pair}`,
      rows: run.headsOf(one.rows),
      columns: run.headsOf(one.columns),
      array: one.array,
      pair: one.metric === first && run.edges.some((edge) => edge.pair === one.pair) ? one.pair : null,
      same: one.pair[0] === one.pair[1],
    });
  }
  const organized = run.axis("head")?.affinity;
  const heads = run.organizedHeads().map((name) => run.head(name));
  if (organized && heads.length === organized.shape[0] && heads.every((head) => head !== undefined)) {
    found.push({
      value: "maps",
      label: "attention maps",
      rows: heads,
      columns: heads,
      array: organized,
      pair: null,
      same: true,
    });
  }
  return found;
}

/** Returns the indices of heads, ordered by layer, tree or hub rank. */
export function headOrder(run: Run, heads: readonly Head[], by: string): number[] {
  const places = new Map<string, number>();
  const tree = by === "communities" ? run.doc.trees?.communities : by === "maps" ? run.doc.trees?.head : undefined;
  if (tree?.names) tree.order.forEach((element, place) => places.set(tree.names![element]!, place));
  if (by === "hubs") run.hubs.forEach((hub) => places.set(hub.head, hub.rank));
  const place = (i: number) => places.get(heads[i]!.name) ?? Number.MAX_SAFE_INTEGER;
  return range(heads.length).sort((a, b) => place(a) - place(b) || a - b);
}

export const matrices: View = {
  id: "matrices",
  title: "Affinity matrices",
  about:
    "Affinity of every pair of heads. The other view of the same edges: rows are sources, columns are targets. Marks are the edges of the wiring: filled if they stand out, hollow if they are beyond chance. Click a cell for the evidence of its pair. A gray matrix has no pair beyond chance.",
  available: (run) => choices(run).length > 0,
  async mount(section, context) {
    const view = new Matrices(context);
    const figure = new Figure(view, context.store);
    context.figures.push(figure);
    section.append(figure.element);
    await view.attach(figure);
  },
};

class Matrices implements FigureSpec {
  readonly id = "matrix";
  readonly title = "Affinity per pair of heads";
  private readonly all: Choice[];
  private chosen: Choice;
  private by = "layer";
  private array: NumberArray | null = null;
  private rows: number[] = [];
  private columns: number[] = [];
  private cells: Cells | null = null;
  private ends: [number, number] = [0, 1];
  private rowOf = new Map<string, number>();
  private columnOf = new Map<string, number>();
  private version = 0;
  private filter: EdgeFilter | null = null;
  private marked: Edge[] = [];
  private markedFor = "";
  private readonly cache = new LayerCache();
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private readonly colors = lookup(viridis);
  private readonly unsureColors = lookup(grays);

  constructor(private readonly context: Context) {
    this.all = choices(context.run);
    this.chosen = this.all[0]!;
  }

  async attach(figure: Figure): Promise<void> {
    const { run } = this.context;
    const orders = [{ value: "layer", label: "layer" }];
    if (run.doc.trees?.communities?.names) orders.push({ value: "communities", label: "tree of weights" });
    if (run.doc.trees?.head?.names) orders.push({ value: "maps", label: "tree of maps" });
    if (run.hubs.some((hub) => hub.significant !== "no")) orders.push({ value: "hubs", label: "hub rank" });
    const show = async () => {
      this.array = await run.array(this.chosen.array);
      this.rows = headOrder(run, this.chosen.rows, this.by);
      this.columns = headOrder(run, this.chosen.columns, this.by);
      const place = (heads: readonly Head[], places: readonly number[]) =>
        new Map(places.map((i, at) => [heads[i]!.name, at]));
      this.rowOf = place(this.chosen.rows, this.rows);
      this.columnOf = place(this.chosen.columns, this.columns);
      this.color();
      ++this.version;
      figure.redraw();
    };
    const choose = (value: string) => {
      this.chosen = this.all.find((one) => one.value === value) ?? this.chosen;
      void show();
    };
    const matrix = select("Matrix", this.all, this.chosen.value, choose);
    // The matrix shows the roles of the selected edge.
    const follow = () => {
      const { edge } = this.context.store.state;
      const wanted = this.all.find((one) => one.pair !== null && one.pair === edge?.pair);
      if (!wanted || wanted === this.chosen || this.chosen.pair === edge?.pair) return;
      matrix.value = wanted.value;
      choose(wanted.value);
    };
    this.context.store.subscribe((_, changed) => changed.has("edge") && follow());
    const order = (by: string) => {
      this.by = by;
      void show();
    };
    figure.controls.append(matrix.element, ...(orders.length > 1 ? [segmented("Order", orders, this.by, order)] : []));
    await show();
    follow();
  }

  private value(row: number, column: number): number {
    if (!this.array || (this.chosen.same && this.rows[row] === this.columns[column])) return NaN;
    return orderedMatrix(this.array, this.rows, this.columns)(row, column);
  }

  private color(): void {
    const inner = orderedMatrix(this.array!, this.rows, this.columns);
    const value = (row: number, column: number) =>
      this.chosen.same && this.rows[row] === this.columns[column] ? NaN : inner(row, column);
    this.ends = minMax(this.rows.length, this.columns.length, value);
    this.cells = colorCells(
      this.rows.length,
      this.columns.length,
      value,
      this.ends,
      this.unsure() ? this.unsureColors : this.colors,
    );
  }
  /** Whether no pair of heads in this matrix is beyond chance. */
  private unsure(): boolean {
    return this.chosen.pair !== null && countOf(this.context.run, this.chosen.pair)?.beyond === 0;
  }

  describe(): string {
    const { rows, columns, label } = this.chosen;
    const { pair } = this.chosen;
    const count = pair === null ? "" : ` ${countSentence(this.context.run, pair)}`;
    return `Matrix ${label}: ${rows.length} by ${columns.length} heads, ordered by ${this.by}.${count} Arrow keys select a row.`;
  }

  note(): string {
    const { pair, label } = this.chosen;
    const marks =
      pair === null
        ? ""
        : `. Marks: ${filterNote(this.context.run, { ...this.context.store.state.filter, pairs: [pair] })}`;
    return `Matrix ${label}, ordered by ${this.by}${marks}`;
  }

  /** Space for names of heads and the title of the axis, left of the matrix and below it. */
  private nameRoom(): number {
    return this.context.run.layers.named ? 88 : 54;
  }
  /** Whether the color bar is below the matrix, because there is no room beside it. */
  private narrow(width: number): boolean {
    return width < 560;
  }
  private side(width: number): number {
    const { rows, columns } = this.chosen;
    return Math.min(
      this.narrow(width) ? width - this.nameRoom() - 28 : width - this.nameRoom() - 206,
      760,
      34 * Math.max(1, rows.length, columns.length),
    );
  }
  height(width: number): number {
    const { rows, columns } = this.chosen;
    return (
      Math.round((this.side(width) * rows.length) / Math.max(1, rows.length, columns.length)) +
      (this.narrow(width) ? 154 : 12) +
      this.nameRoom()
    );
  }

  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    const { rows, columns } = this.chosen;
    const cell = this.side(width) / Math.max(1, rows.length, columns.length);
    this.box = { left: this.nameRoom() + 12, top: 8, width: cell * columns.length, height: cell * rows.length };
    this.filterMarks();
    // All but the frames is drawn once: a million cells take longer than a frame.
    s.layer(this.cache, `${theme.name} ${this.version}`, (layer) => this.drawAll(layer, width, cell, theme));
    this.drawChosen(s);
    this.drawChosenEdge(s);
  }

  private drawAll(s: Surface, width: number, cell: number, theme: Theme): void {
    const { box } = this;
    if (this.cells) s.cells(this.cells, box.left, box.top, box.width, box.height);
    const roomy = cell >= 13;
    if (this.by === "layer") this.drawLayers(s, !roomy, theme);
    if (this.by !== "layer" || roomy) this.drawNames(s, theme);
    s.rect(box.left, box.top, box.width, box.height, { stroke: theme.axis });
    s.text("target", box.left + box.width / 2, box.top + box.height + this.nameRoom() - 2, { anchor: "middle" });
    s.text("source", 12, box.top + box.height / 2, { anchor: "middle", rotate: -90 });
    this.drawEdges(s);
    const ends: [string, string] = [formatNumber(this.ends[0]), formatNumber(this.ends[1])];
    const ramp = this.unsure() ? grays : viridis;
    const at = this.narrow(width)
      ? { x: box.left, y: box.top + box.height + this.nameRoom() + 10 }
      : { x: box.left + box.width + 24, y: box.top };
    drawColorBar(s, at.x, at.y, `affinity: ${this.chosen.label}`, ends, ramp, theme);
    this.drawMarkKey(s, at.x, at.y + 60, theme);
  }

  /** Finds the edges of this matrix that are beyond chance and pass the filters, if these or the matrix have changed. */
  private filterMarks(): void {
    const { run, store } = this.context;
    const { filter } = store.state;
    const key = `${this.version}`;
    if (filter === this.filter && key === this.markedFor) return;
    this.filter = filter;
    const { pair } = this.chosen;
    this.marked = filterEdges(
      run,
      run.edges,
      { ...filter, pairs: pair === null ? [] : [pair] },
      wantedHeads(run, filter),
    ).filter(({ standing }) => standing === "out" || standing === "beyond");
    this.markedFor = `${++this.version}`;
  }

  /** Marks the kept edges that stand out and those that are beyond chance, larger than their cells if these are tiny. */
  private drawEdges(s: Surface): void {
    const { box } = this;
    const wide = box.width / this.columns.length;
    const high = box.height / this.rows.length;
    const radius = Math.min(5, Math.max(3, wide / 3));
    for (const edge of this.marked) {
      const row = this.rowOf.get(edge.source);
      const column = this.columnOf.get(edge.target);
      if (row === undefined || column === undefined) continue;
      drawMark(s, box.left + (column + 0.5) * wide, box.top + (row + 0.5) * high, radius, edge.standing);
    }
  }

  private drawMarkKey(s: Surface, x: number, y: number, theme: Theme): void {
    const { run } = this.context;
    const { pair } = this.chosen;
    const count = pair === null ? null : countOf(run, pair);
    const style = { size: 11, fill: theme.muted };
    if (pair === null) return;
    if (count === null) s.text("significance unknown", x, y, style);
    else if (count.beyond === 0) s.text("no pair beyond chance", x, y, style);
    else {
      const number = (value: number) => value.toLocaleString("en-US");
      s.text(`${number(count.beyond)} of ${number(count.pairs)} beyond chance,`, x, y, style);
      s.text(`${number(count.out)} stand out`, x, y + 15, style);
      (["out", "beyond"] as const).forEach((standing, i) => {
        s.rect(x, y + 27 + 18 * i, 12, 12, { fill: viridis(0.5) });
        drawMark(s, x + 6, y + 33 + 18 * i, 4, standing);
        s.text(standingLabels[standing], x + 20, y + 37 + 18 * i, style);
      });
    }
  }

  /** Draws lines between layers, and layer numbers if there is no room for names of heads. */
  private drawLayers(s: Surface, numbers: boolean, theme: Theme): void {
    const { box } = this;
    const style = { fill: theme.muted, size: 11, baseline: "middle" } as const;
    const faint = { stroke: theme.background, opacity: 0.55 };
    for (const { at, middle, layer, labeled } of layerMarks(this.chosen.columns, this.columns, box.width, 26)) {
      const x = box.left + at * box.width;
      if (at > 0) s.line(x, box.top, x, box.top + box.height, faint);
      if (labeled && numbers)
        s.text(`L${layer}`, box.left + middle * box.width, box.top + box.height + 14, { ...style, anchor: "middle" });
    }
    for (const { at, middle, layer, labeled } of layerMarks(this.chosen.rows, this.rows, box.height, 14)) {
      const y = box.top + at * box.height;
      if (at > 0) s.line(box.left, y, box.left + box.width, y, faint);
      if (labeled && numbers)
        s.text(`L${layer}`, box.left - 8, box.top + middle * box.height, { ...style, anchor: "end" });
    }
    if (this.context.run.layers.named) this.drawBlocks(s, numbers, theme);
  }

  /** Draws lines between blocks of layers, and their names if names of heads do not contain them. */
  private drawBlocks(s: Surface, named: boolean, theme: Theme): void {
    const { box } = this;
    const line = { stroke: theme.background, width: 2.5 };
    const style = { fill: theme.ink, size: 11, anchor: "middle" } as const;
    for (const { at, middle, head } of sideParts(this.chosen.columns, this.columns, ({ block }) => block)) {
      const x = box.left + at * box.width;
      if (at > 0) s.line(x, box.top, x, box.top + box.height, line);
      if (named) s.text(blockName(head.block), box.left + middle * box.width, box.top + box.height + 36, style);
    }
    for (const { at, middle, head } of sideParts(this.chosen.rows, this.rows, ({ block }) => block)) {
      const y = box.top + at * box.height;
      if (at > 0) s.line(box.left, y, box.left + box.width, y, line);
      if (named) s.text(blockName(head.block), box.left - 44, box.top + middle * box.height, { ...style, rotate: -90 });
    }
  }

  /** Draws names of heads, as many as there is room for. */
  private drawNames(s: Surface, theme: Theme): void {
    const { box } = this;
    const style = { fill: theme.muted, size: 10, baseline: "middle", anchor: "end" } as const;
    const high = box.height / this.rows.length;
    const wide = box.width / this.columns.length;
    for (let i = 0; i < this.rows.length; i += labelStep(high, 11))
      s.text(this.chosen.rows[this.rows[i]!]!.name, box.left - 6, box.top + (i + 0.5) * high, style);
    for (let i = 0; i < this.columns.length; i += labelStep(wide, 11))
      s.text(this.chosen.columns[this.columns[i]!]!.name, box.left + (i + 0.5) * wide, box.top + box.height + 5, {
        ...style,
        rotate: -90,
      });
  }

  /** Frames the row and column of the chosen head. A white frame on a black one is visible on every color. */
  private drawChosen(s: Surface): void {
    const { head } = this.context.store.state;
    const { box } = this;
    const row = this.rowOf.get(head ?? "") ?? -1;
    const column = this.columnOf.get(head ?? "") ?? -1;
    const high = box.height / this.rows.length;
    const wide = box.width / this.columns.length;
    for (const paint of [
      { stroke: "#000000", width: 3.5 },
      { stroke: "#ffffff", width: 1.5 },
    ]) {
      if (row >= 0) s.rect(box.left, box.top + row * high, box.width, high, paint);
      if (column >= 0) s.rect(box.left + column * wide, box.top, wide, box.height, paint);
    }
  }

  /** Frames the cell of the chosen edge. */
  private drawChosenEdge(s: Surface): void {
    const { edge } = this.context.store.state;
    const { box } = this;
    if (edge === null || edge.pair !== this.chosen.pair) return;
    const row = this.rowOf.get(edge.source) ?? -1;
    const column = this.columnOf.get(edge.target) ?? -1;
    if (row < 0 || column < 0) return;
    const high = box.height / this.rows.length;
    const wide = box.width / this.columns.length;
    // Cells of large matrices are smaller than a visible frame.
    const [w, h] = [Math.max(8, wide), Math.max(8, high)];
    const x = box.left + (column + 0.5) * wide - w / 2;
    const y = box.top + (row + 0.5) * high - h / 2;
    s.rect(x - 2, y - 2, w + 4, h + 4, { stroke: "#000000", width: 4.5 });
    s.rect(x - 2, y - 2, w + 4, h + 4, { stroke: "#ffffff", width: 2 });
  }

  hit(x: number, y: number): Hit | null {
    const { box } = this;
    const row = Math.floor(((y - box.top) / box.height) * this.rows.length);
    const column = Math.floor(((x - box.left) / box.width) * this.columns.length);
    if (row < 0 || column < 0 || row >= this.rows.length || column >= this.columns.length) return null;
    const source = this.chosen.rows[this.rows[row]!]!.name;
    const target = this.chosen.columns[this.columns[column]!]!.name;
    const affinity = this.value(row, column);
    const value = formatNumber(affinity, 4);
    const edge = this.context.run.edges.find(
      (one) => one.pair === this.chosen.pair && one.source === source && one.target === target,
    );
    const tip: TipLine[] = edge ? edgeTip(edge, this.context.run) : [`${source} \u2192 ${target}`];
    const { pair } = this.chosen;
    const [from, to] = [this.chosen.rows[this.rows[row]!]!, this.chosen.columns[this.columns[column]!]!];
    const before = pair !== null && precedes(from, pair.slice(0, 1), to, pair.slice(1));
    const key = before && !Number.isNaN(affinity) ? { edge: { pair, source, target } } : {};
    return { head: source, tip: [...tip, { label: this.chosen.label, value }], ...key };
  }

  key(key: string): string | null {
    const step = key === "ArrowDown" || key === "ArrowRight" ? 1 : key === "ArrowUp" || key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return null;
    const names = this.rows.map((i) => this.chosen.rows[i]!.name);
    const at = names.indexOf(this.context.store.state.head ?? "");
    const next = names[at < 0 ? 0 : (at + step + names.length) % names.length]!;
    this.context.store.set({ head: next });
    return `Source ${next}`;
  }

  data() {
    const digits = (value: number) => (Number.isNaN(value) ? null : Number(value.toPrecision(6)));
    return {
      columns: ["source", ...this.columns.map((i) => this.chosen.columns[i]!.name)],
      rows: this.rows.map((i, r) => [
        this.chosen.rows[i]!.name,
        ...this.columns.map((_, c) => digits(this.value(r, c))),
      ]),
    };
  }
}

/** Draws the mark of an edge: filled if it stands out, otherwise hollow. Black and white are visible on every color. */
function drawMark(s: Surface, x: number, y: number, radius: number, standing: Standing): void {
  s.circle(x, y, radius, { stroke: "#000000", width: 2.5 });
  s.circle(x, y, radius, { stroke: "#ffffff", width: 1.2, ...(standing === "out" ? { fill: "#ffffff" } : {}) });
}

/** Returns the parts of a side in which all heads have the same key: start and middle, as fractions of it. */
function sideParts(heads: readonly Head[], order: readonly number[], key: (head: Head) => string) {
  const at = (i: number) => heads[order[i]!]!;
  const starts = range(order.length).filter((i) => i === 0 || key(at(i)) !== key(at(i - 1)));
  return starts.map((start, i) => ({
    at: start / order.length,
    middle: (start + (starts[i + 1] ?? order.length)) / 2 / order.length,
    head: at(start),
  }));
}

/** Returns the start of each layer along a side, as a fraction of it, and whether there is room for its label. */
function layerMarks(heads: readonly Head[], order: readonly number[], length: number, room: number) {
  const parts = sideParts(heads, order, ({ block, layer }) => `${block} ${layer}`);
  const step = labelStep(length / Math.max(1, parts.length), room);
  return parts.map(({ at, middle, head }) => ({ at, middle, layer: head.layer, labeled: head.layer % step === 0 }));
}
