import type { NumberArray } from "../data/array";
import type { Input, MapSet } from "../data/doc";
import { drawColorBar, formatNumber, type Box } from "../draw/axes";
import { lookup, viridis } from "../draw/color";
import { colorCells, endsOf, orderedMatrix, range } from "../draw/heatmap";
import type { Cells, Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { segmented, select } from "../ui/controls";
import { el, isolated, visibleToken } from "../ui/dom";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { Gaze } from "./gaze";
import { labelStep } from "./grid";
import { shortened } from "./labels";

/** What the figures of this section look at. */
export interface Look {
  input: Input;
  what: "pattern" | "scores";
  head: string;
  /** A row of the map, in its own order. */
  query: number;
  level: number;
  array: NumberArray | null;
  organized: NumberArray | null;
}

export const maps: View = {
  id: "maps",
  title: "Attention maps",
  about:
    "Queries as rows, keys as columns: as the model had them, and with rows and columns in the order of their trees. The chosen head is shown; point at a row to see where that query looks.",
  available: (run) => (run.doc.inputs ?? []).length > 0,
  async mount(section, context) {
    await new Maps(context).attach(section);
  },
};

const mapSet = (look: Look): MapSet => (look.what === "pattern" ? look.input.pattern : look.input.scores)!;

class Maps {
  private readonly look: Look;
  private figures: Figure[] = [];

  constructor(private readonly context: Context) {
    const input = context.run.doc.inputs![0]!;
    this.look = {
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

  /** The chosen head where it has a map, else the one before, else the one with the least entropy. */
  private follow(): void {
    const { heads } = this.look.input.tokens;
    const chosen = this.context.store.state.head;
    if (chosen !== null && heads.includes(chosen)) this.look.head = chosen;
    if (heads.includes(this.look.head)) return;
    const entropy = this.look.input.summary?.entropy ?? [];
    const least = entropy.reduce((best, value, i) => (value < (entropy[best] ?? Infinity) ? i : best), 0);
    this.look.head = heads[least] ?? heads[0]!;
  }

  async attach(section: HTMLElement): Promise<void> {
    const { run, store } = this.context;
    const inputs = run.doc.inputs!;
    const heads = () => this.look.input.tokens.heads.map((value) => ({ value, label: value }));
    const head = select("Head", heads(), this.look.head, (value) => store.set({ head: value }));
    const controls = el("div", { class: "controls" });
    if (inputs.length > 1) {
      const options = inputs.map((input, i) => ({ value: String(i), label: preview(input, i) }));
      controls.append(
        select("Input", options, "0", (value) => {
          this.look.input = inputs[Number(value)]!;
          this.look.query = -1;
          this.follow();
          head.setOptions(heads(), this.look.head);
          void this.load();
        }).element,
      );
    }
    controls.append(head.element);
    if (this.look.input.pattern && this.look.input.scores) {
      const kinds = [
        { value: "pattern", label: "after softmax" },
        { value: "scores", label: "before" },
      ];
      controls.append(
        segmented("Values", kinds, this.look.what, (value) => {
          this.look.what = value as Look["what"];
          void this.load();
        }),
      );
    }
    const set = mapSet(this.look);
    const pair = el("div", { class: "pair even" });
    const add = (figure: Figure, to: HTMLElement) => {
      this.figures.push(figure);
      this.context.figures.push(figure);
      to.append(figure.element);
    };
    section.append(controls, pair);
    add(new Figure(new MapFigure(this.context, this.look, false, () => this.redraw()), store), pair);
    if (set.rows) {
      const figure = new Figure(new MapFigure(this.context, this.look, true, () => this.redraw()), store);
      add(figure, pair);
      const levels = Math.max(run.doc.trees?.query?.levels.length ?? 0, run.doc.trees?.key?.levels.length ?? 0);
      const options = range(Math.max(0, levels - 1)).map((level) => ({
        value: String(level),
        label: level === 0 ? "no lines" : `level ${level}`,
      }));
      if (levels > 1)
        controls.append(
          select("Folders", options, "1", (value) => {
            this.look.level = Number(value);
            this.redraw();
          }).element,
        );
    }
    add(new Figure(new Gaze(this.look, () => mapSet(this.look)), store), section);
    store.subscribe((_, changed) => {
      if (!changed.has("head")) return;
      this.follow();
      head.value = this.look.head;
      this.redraw();
    });
    await this.load();
  }

  private redraw(): void {
    this.figures.forEach((figure) => figure.redraw());
  }
  private async load(): Promise<void> {
    const set = mapSet(this.look);
    const [array, organized] = await Promise.all([
      this.context.run.array(set.maps),
      set.organized ? this.context.run.array(set.organized) : null,
    ]);
    this.look.array = array;
    this.look.organized = organized;
    this.redraw();
  }
}

/** "0: the first words" */
function preview(input: Input, i: number): string {
  const { tokens, kind } = input.tokens;
  if (kind === "image") return `${i}: image`;
  const words = tokens.slice(0, 8).map((token) => token.text);
  // Some tokenizers keep blanks in their tokens, others leave them out.
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
    private readonly look: Look,
    private readonly isOrganized: boolean,
    private readonly changed: () => void,
  ) {
    this.id = isOrganized ? "map-organized" : "map";
    this.title = isOrganized ? "Organized" : "Original";
  }

  private slice(): number {
    return this.look.input.tokens.heads.indexOf(this.look.head);
  }
  /** Queries and keys that make up the rows and columns, before averaging. */
  private order(): { rows: readonly number[]; columns: readonly number[] } {
    const set = mapSet(this.look);
    if (this.isOrganized && set.rows && set.columns) return { rows: set.rows, columns: set.columns };
    return { rows: range(set.queries), columns: range(set.keys) };
  }

  /** The value in a cell of the drawing. */
  private reader(): { rows: number; columns: number; value: (row: number, column: number) => number } {
    const set = mapSet(this.look);
    const { rows, columns } = this.order();
    const pooled = set.side > 1;
    const array = this.isOrganized && pooled ? this.look.organized : this.look.array;
    if (!array) return { rows: 0, columns: 0, value: () => NaN };
    const [high, wide] = pooled ? (array.shape.slice(-2) as [number, number]) : [rows.length, columns.length];
    const inner = pooled
      ? orderedMatrix(array, range(high), range(wide), this.slice())
      : orderedMatrix(array, rows, columns, this.slice());
    const first = this.look.input.tokens.first_query ?? 0;
    const causal = this.look.input.tokens.mask === "causal";
    // A block of averages is blank where the mask hides all of it, which is known only in the order of the input.
    const hidden = (r: number, c: number) =>
      causal &&
      (pooled ? !this.isOrganized && c * set.side > (r + 1) * set.side - 1 + first : columns[c]! > rows[r]! + first);
    return { rows: high, columns: wide, value: (r, c) => (hidden(r, c) ? NaN : inner(r, c)) };
  }

  private update(): void {
    const { input, what, head, array, organized } = this.look;
    const key = [input.name, what, head, array ? 1 : 0, organized ? 1 : 0].join();
    if (this.drawn?.key === key) return;
    const { rows, columns, value } = this.reader();
    const ends = endsOf(rows, columns, value);
    if (what === "pattern") ends[0] = 0;
    this.drawn = {
      key,
      ends,
      cells: colorCells(rows, columns, value, ends, this.colors, what === "pattern" ? 0.5 : 1),
    };
  }

  describe(): string {
    const set = mapSet(this.look);
    const order = this.isOrganized ? "in the order of the trees" : "in the order of the input";
    return `Attention map of ${this.look.head}, ${set.queries} queries by ${set.keys} keys ${order}. Up and down choose a query.`;
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
    const most = Math.max(1, rows.length, columns.length);
    this.box = { left: 68, top: 4, width: (side * columns.length) / most, height: (side * rows.length) / most };
    const { box } = this;
    s.rect(box.left, box.top, box.width, box.height, { fill: theme.grid });
    if (this.drawn) s.cells(this.drawn.cells, box.left, box.top, box.width, box.height);
    if (this.isOrganized) this.drawFolders(s);
    this.drawTokens(s, theme, rows, columns);
    const at = rows.indexOf(this.look.query);
    if (at >= 0) {
      const high = box.height / rows.length;
      for (const paint of [
        { stroke: "#000000", width: 3 },
        { stroke: "#ffffff", width: 1.25 },
      ])
        s.rect(box.left, box.top + at * high, box.width, Math.max(high, 1.5), paint);
    }
    const label =
      this.look.what === "pattern" ? `attention of ${this.look.head} (root scale)` : `score of ${this.look.head}`;
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

  /** Lines around the folders of a level. */
  private drawFolders(s: Surface): void {
    const { box } = this;
    const { rows, columns } = this.order();
    const style = { stroke: "#ffffff", width: 1, opacity: 0.8 };
    const ends = (name: "query" | "key") =>
      this.look.level === 0 ? [] : (this.context.run.doc.trees?.[name]?.levels[this.look.level] ?? []);
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
    return this.look.input.tokens.first_query ?? 0;
  }
  private token(i: number): string {
    return tokenName(this.look.input, i);
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
    if (this.look.query !== cell.query) {
      this.look.query = cell.query;
      this.changed();
    }
    const { side } = mapSet(this.look);
    const value = this.reader().value(Math.floor(cell.row / side), Math.floor(cell.column / side));
    const tip = [
      `${this.look.head}: ${formatNumber(value)}`,
      { label: "query", value: `${cell.query + this.first()} ${isolated(this.token(cell.query + this.first()))}` },
      { label: "key", value: `${cell.key} ${isolated(this.token(cell.key))}` },
    ];
    if (side > 1) tip.push(`mean over ${side} \u00d7 ${side}`);
    return { tip };
  }
  key(key: string): string | null {
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (step === 0) return null;
    const { rows } = this.order();
    const at = rows.indexOf(this.look.query);
    const next = Math.min(rows.length - 1, Math.max(0, at + step));
    this.look.query = rows[next]!;
    this.changed();
    return `Query ${this.look.query} ${this.token(this.look.query + this.first())}`;
  }

  data() {
    const { rows, columns } = this.order();
    const { side } = mapSet(this.look);
    const reader = this.reader();
    const name = (index: number | undefined, offset: number) => {
      const at = (index ?? 0) + offset;
      return `${at} ${tokenText(this.look.input, at)}`;
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
/** A token as figures label it. */
export const tokenName = (input: Input, i: number) => visibleToken(tokenText(input, i));

/** At most nine characters, by code points. */
export const clip = (text: string) => shortened(text, 9);
