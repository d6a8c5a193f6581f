import type { NumberArray } from "../data/array";
import type { Input, MapSet } from "../data/doc";
import { drawColorBar, formatNumber, type Box } from "../draw/axes";
import { lookup, viridis } from "../draw/color";
import { colorCells, minMax, orderedMatrix, range } from "../draw/heatmap";
import type { Cells, Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { segmented, select } from "../ui/controls";
import { el, isolated, visibleToken } from "../ui/dom";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { QueryAttention } from "./query_attention";
import { labelStep } from "./grid";
import { truncateEnd } from "./labels";

/** What the figures of this section show. */
export interface MapSelection {
  input: Input;
  what: "pattern" | "scores";
  head: string;
  /** Row of the map, in the order of the input; -1: none. */
  query: number;
  level: number;
  array: NumberArray | null;
  organized: NumberArray | null;
}

export const maps: View = {
  id: "maps",
  title: "Attention maps",
  about:
    "Attention maps of the selected head. Rows are queries, columns are keys. The original map is in the order of the input, the organized map in the order of the trees. Point at a row to see the attention of that query.",
  available: (run) => (run.doc.inputs ?? []).length > 0,
  async mount(section, context) {
    await new Maps(context).attach(section);
  },
};

const mapSet = (selection: MapSelection): MapSet =>
  (selection.what === "pattern" ? selection.input.pattern : selection.input.scores)!;

class Maps {
  private readonly selection: MapSelection;
  private figures: Figure[] = [];

  constructor(private readonly context: Context) {
    const input = context.run.doc.inputs![0]!;
    this.selection = {
      input,
      what: input.pattern ? "pattern" : "scores",
      head: "",
      query: -1,
      level: 1,
      array: null,
      organized: null,
    };
    this.follow();
  }

  /** Shows the chosen head if it has a map, otherwise the previous head; at start, the head of min entropy. */
  private follow(): void {
    const { heads } = this.selection.input.tokens;
    const chosen = this.context.store.state.head;
    if (chosen !== null && heads.includes(chosen)) this.selection.head = chosen;
    if (heads.includes(this.selection.head)) return;
    const entropy = this.selection.input.summary?.entropy ?? [];
    const narrowest = entropy.reduce((best, value, i) => (value < (entropy[best] ?? Infinity) ? i : best), 0);
    this.selection.head = heads[narrowest] ?? heads[0]!;
  }

  async attach(section: HTMLElement): Promise<void> {
    const { run, store } = this.context;
    const inputs = run.doc.inputs!;
    const heads = () => this.selection.input.tokens.heads.map((value) => ({ value, label: value }));
    const head = select("Head", heads(), this.selection.head, (value) => store.set({ head: value }));
    const controls = el("div", { class: "controls" });
    if (inputs.length > 1) {
      const options = inputs.map((input, i) => ({ value: String(i), label: preview(input, i) }));
      controls.append(
        select("Input", options, "0", (value) => {
          this.selection.input = inputs[Number(value)]!;
          this.selection.query = -1;
          this.follow();
          head.setOptions(heads(), this.selection.head);
          void this.load();
        }).element,
      );
    }
    controls.append(head.element);
    if (this.selection.input.pattern && this.selection.input.scores) {
      const kinds = [
        { value: "pattern", label: "after softmax" },
        { value: "scores", label: "before softmax" },
      ];
      controls.append(
        segmented("Values", kinds, this.selection.what, (value) => {
          this.selection.what = value as MapSelection["what"];
          void this.load();
        }),
      );
    }
    const set = mapSet(this.selection);
    const pair = el("div", { class: "pair even" });
    const add = (figure: Figure, to: HTMLElement) => {
      this.figures.push(figure);
      this.context.figures.push(figure);
      to.append(figure.element);
    };
    section.append(controls, pair);
    add(new Figure(new MapFigure(this.context, this.selection, false, () => this.redraw()), store), pair);
    if (set.rows) {
      const figure = new Figure(new MapFigure(this.context, this.selection, true, () => this.redraw()), store);
      add(figure, pair);
      const levels = Math.max(run.doc.trees?.query?.levels.length ?? 0, run.doc.trees?.key?.levels.length ?? 0);
      const options = range(Math.max(0, levels - 1)).map((level) => ({
        value: String(level),
        label: level === 0 ? "no lines" : `level ${level}`,
      }));
      if (levels > 1)
        controls.append(
          select("Folders", options, "1", (value) => {
            this.selection.level = Number(value);
            this.redraw();
          }).element,
        );
    }
    add(new Figure(new QueryAttention(this.selection, () => mapSet(this.selection)), store), section);
    store.subscribe((_, changed) => {
      if (!changed.has("head")) return;
      this.follow();
      head.value = this.selection.head;
      this.redraw();
    });
    await this.load();
  }

  private redraw(): void {
    this.figures.forEach((figure) => figure.redraw());
  }
  private async load(): Promise<void> {
    const set = mapSet(this.selection);
    const [array, organized] = await Promise.all([
      this.context.run.array(set.maps),
      set.organized ? this.context.run.array(set.organized) : null,
    ]);
    this.selection.array = array;
    this.selection.organized = organized;
    this.redraw();
  }
}

/** Returns a short name of an input: "0: the first words". */
function preview(input: Input, i: number): string {
  const { tokens, kind } = input.tokens;
  if (kind === "image") return `${i}: image`;
  const words = tokens.slice(0, 8).map((token) => token.text);
  // Some tokenizers include spaces in their tokens, others do not.
  const spaced = tokens.some((token) => /^\s|\s$/.test(token.text));
  return `${i}: ${words.join(spaced ? "" : " ").slice(0, 32)}`;
}

class MapFigure implements FigureSpec {
  readonly id: string;
  readonly title: string;
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private drawn: { key: string; cells: Cells; ends: [number, number] } | null = null;
  private readonly colors = lookup(viridis);

  constructor(
    private readonly context: Context,
    private readonly selection: MapSelection,
    private readonly isOrganized: boolean,
    private readonly changed: () => void,
  ) {
    this.id = isOrganized ? "map-organized" : "map";
    this.title = isOrganized ? "Organized" : "Original";
  }

  private slice(): number {
    return this.selection.input.tokens.heads.indexOf(this.selection.head);
  }
  /** Returns the queries and keys in the order of rows and columns, before averaging. */
  private order(): { rows: readonly number[]; columns: readonly number[] } {
    const set = mapSet(this.selection);
    if (this.isOrganized && set.rows && set.columns) return { rows: set.rows, columns: set.columns };
    return { rows: range(set.queries), columns: range(set.keys) };
  }

  /** Returns a function that reads the value of a cell of the drawing. */
  private reader(): { rows: number; columns: number; value: (row: number, column: number) => number } {
    const set = mapSet(this.selection);
    const { rows, columns } = this.order();
    const pooled = set.side > 1;
    const array = this.isOrganized && pooled ? this.selection.organized : this.selection.array;
    if (!array) return { rows: 0, columns: 0, value: () => NaN };
    const [high, wide] = pooled ? (array.shape.slice(-2) as [number, number]) : [rows.length, columns.length];
    const inner = pooled
      ? orderedMatrix(array, range(high), range(wide), this.slice())
      : orderedMatrix(array, rows, columns, this.slice());
    const first = this.selection.input.tokens.first_query ?? 0;
    const causal = this.selection.input.tokens.mask === "causal";
    // An averaged block is blank if the mask hides all of it. This is known only in the order of the input.
    const hidden = (r: number, c: number) =>
      causal &&
      (pooled ? !this.isOrganized && c * set.side > (r + 1) * set.side - 1 + first : columns[c]! > rows[r]! + first);
    return { rows: high, columns: wide, value: (r, c) => (hidden(r, c) ? NaN : inner(r, c)) };
  }

  private update(): void {
    const { input, what, head, array, organized } = this.selection;
    const key = [input.name, what, head, array ? 1 : 0, organized ? 1 : 0].join();
    if (this.drawn?.key === key) return;
    const { rows, columns, value } = this.reader();
    const ends = minMax(rows, columns, value);
    if (what === "pattern") ends[0] = 0;
    this.drawn = {
      key,
      ends,
      cells: colorCells(rows, columns, value, ends, this.colors, what === "pattern" ? 0.5 : 1),
    };
  }

  describe(): string {
    const set = mapSet(this.selection);
    const order = this.isOrganized ? "in the order of the trees" : "in the order of the input";
    return `Attention map of ${this.selection.head}, ${set.queries} queries by ${set.keys} keys ${order}. Up and down arrows select a query.`;
  }
  height(width: number): number {
    const { rows, columns } = this.order();
    const side = Math.min(width - 76, 640);
    return Math.round((side * rows.length) / Math.max(1, rows.length, columns.length)) + 124;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    this.update();
    const { rows, columns } = this.order();
    const side = Math.min(width - 76, 640);
    const longer = Math.max(1, rows.length, columns.length);
    this.box = { left: 68, top: 4, width: (side * columns.length) / longer, height: (side * rows.length) / longer };
    const { box } = this;
    s.rect(box.left, box.top, box.width, box.height, { fill: theme.grid });
    if (this.drawn) s.cells(this.drawn.cells, box.left, box.top, box.width, box.height);
    if (this.isOrganized) this.drawFolders(s);
    this.drawTokens(s, theme, rows, columns);
    const at = rows.indexOf(this.selection.query);
    if (at >= 0) {
      const high = box.height / rows.length;
      for (const paint of [
        { stroke: "#000000", width: 3 },
        { stroke: "#ffffff", width: 1.25 },
      ])
        s.rect(box.left, box.top + at * high, box.width, Math.max(high, 1.5), paint);
    }
    const label =
      this.selection.what === "pattern"
        ? `attention of ${this.selection.head} (square root scale)`
        : `score of ${this.selection.head}`;
    const ends = this.drawn?.ends ?? [0, 1];
    drawColorBar(
      s,
      box.left,
      height - 44,
      label,
      [formatNumber(ends[0]), formatNumber(ends[1])],
      viridis,
      theme,
      Math.min(220, box.width),
    );
  }

  /** Draws lines between the folders of a level, unless there are too many. */
  private drawFolders(s: Surface): void {
    const { box } = this;
    const { rows, columns } = this.order();
    const style = { stroke: "#ffffff", width: 1, opacity: 0.8 };
    const ends = (name: "query" | "key") =>
      this.selection.level === 0 ? [] : (this.context.run.doc.trees?.[name]?.levels[this.selection.level] ?? []);
    const few = (list: number[], n: number) => (list.length < n / 2 ? list : []);
    for (const end of few(ends("query"), rows.length)) {
      const y = box.top + (end / rows.length) * box.height;
      s.line(box.left, y, box.left + box.width, y, style);
    }
    for (const end of few(ends("key"), columns.length)) {
      const x = box.left + (end / columns.length) * box.width;
      s.line(x, box.top, x, box.top + box.height, style);
    }
  }

  private drawTokens(s: Surface, theme: Theme, rows: readonly number[], columns: readonly number[]): void {
    const { box } = this;
    const style = { size: 10, fill: theme.muted, baseline: "middle", anchor: "end" } as const;
    const high = box.height / rows.length;
    for (let i = 0; i < rows.length; i += labelStep(high, 11))
      s.text(clip(this.token(rows[i]! + this.first())), box.left - 5, box.top + (i + 0.5) * high, style);
    const wide = box.width / columns.length;
    for (let i = 0; i < columns.length; i += labelStep(wide, 11))
      s.text(clip(this.token(columns[i]!)), box.left + (i + 0.5) * wide, box.top + box.height + 5, {
        ...style,
        rotate: -90,
      });
  }
  private first(): number {
    return this.selection.input.tokens.first_query ?? 0;
  }
  private token(i: number): string {
    return tokenName(this.selection.input, i);
  }

  private cellAt(x: number, y: number): { query: number; key: number; row: number; column: number } | null {
    const { box } = this;
    const { rows, columns } = this.order();
    const row = Math.floor(((y - box.top) / box.height) * rows.length);
    const column = Math.floor(((x - box.left) / box.width) * columns.length);
    if (row < 0 || column < 0 || row >= rows.length || column >= columns.length) return null;
    return { query: rows[row]!, key: columns[column]!, row, column };
  }
  hit(x: number, y: number): Hit | null {
    const cell = this.cellAt(x, y);
    if (!cell) return null;
    if (this.selection.query !== cell.query) {
      this.selection.query = cell.query;
      this.changed();
    }
    const { side } = mapSet(this.selection);
    const value = this.reader().value(Math.floor(cell.row / side), Math.floor(cell.column / side));
    const tip = [
      `${this.selection.head}: ${formatNumber(value)}`,
      { label: "query", value: `${cell.query + this.first()} ${isolated(this.token(cell.query + this.first()))}` },
      { label: "key", value: `${cell.key} ${isolated(this.token(cell.key))}` },
    ];
    if (side > 1) tip.push(`mean over ${side} \u00d7 ${side} tokens`);
    return { tip };
  }
  key(key: string): string | null {
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (step === 0) return null;
    const { rows } = this.order();
    const at = rows.indexOf(this.selection.query);
    const next = Math.min(rows.length - 1, Math.max(0, at + step));
    this.selection.query = rows[next]!;
    this.changed();
    return `Query ${this.selection.query} ${this.token(this.selection.query + this.first())}`;
  }

  data() {
    const { rows, columns } = this.order();
    const { side } = mapSet(this.selection);
    const reader = this.reader();
    const name = (index: number | undefined, offset: number) => {
      const at = (index ?? 0) + offset;
      return `${at} ${tokenText(this.selection.input, at)}`;
    };
    const cell = (r: number, c: number) => {
      const value = reader.value(r, c);
      return Number.isNaN(value) ? null : Number(value.toPrecision(4));
    };
    return {
      columns: ["query", ...range(reader.columns).map((c) => name(columns[c * side], 0))],
      rows: range(reader.rows).map((r) => [
        name(rows[r * side], this.first()),
        ...range(reader.columns).map((c) => cell(r, c)),
      ]),
    };
  }
}

const tokenText = (input: Input, i: number) => input.tokens.tokens[i]?.text ?? "";
/** Returns the label of a token in figures. */
export const tokenName = (input: Input, i: number) => visibleToken(tokenText(input, i));

/** Truncates a text to at most nine code points. */
export const clip = (text: string) => truncateEnd(text, 9);
