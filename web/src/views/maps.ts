import type { NumberArray } from "../data/array";
import type { Input, MapSet } from "../data/doc";
import { storyCircuit } from "../data/circuit";
import { queryTokens, type CapturedInput } from "../data/inputs";
import { HeadMaps } from "../data/head_maps";
import { mappedHeads } from "../data/mapped_heads";
import { drawColorBar, formatNumber, type Box } from "../draw/axes";
import { lookup, viridis } from "../draw/color";
import { colorCells, minMax, range } from "../draw/heatmap";
import type { Cells, Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { segmented, select } from "../ui/controls";
import { inputChooser } from "../ui/input_chooser";
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
  /** The row under the pointer, in the order of the input; -1: none. */
  hovered: number;
  /** Row of the map that was clicked; null: none. */
  pinned: number | null;
  level: number;
  maps: HeadMaps | null;
  /** The image behind the patches, if the page has it. */
  photo: NumberArray | null;
}

/** Returns the row whose attention is shown, in the order of the input; -1: none. */
export const shownQuery = ({ hovered, pinned }: MapSelection) => (hovered >= 0 ? hovered : (pinned ?? -1));

export const maps: View = {
  id: "maps",
  title: "Attention maps",
  about:
    "Attention maps of the selected head. Rows are queries, columns are keys. The original map is in the order of the input, the organized map in the order of the trees. Point at a row to see the attention of that query; click to keep it.",
  available: (run) => run.inputs.length > 0,
  async mount(section, context) {
    await new Maps(context).attach(section);
  },
};

const mapSet = (selection: MapSelection): MapSet =>
  (selection.what === "pattern" ? selection.input.pattern : selection.input.scores)!;

class Maps {
  private readonly selection: MapSelection;
  private figures: Figure[] = [];
  /** The map in the order of the trees, shown for inputs that were organized. */
  private organized: Figure | null = null;

  constructor(private readonly context: Context) {
    const input = context.run.inputs[context.store.state.input]!.first;
    this.selection = {
      input,
      what: input.pattern ? "pattern" : "scores",
      head: "",
      hovered: -1,
      pinned: context.store.state.query,
      level: 1,
      maps: null,
      photo: null,
    };
    this.follow();
  }

  /**
   * Shows the chosen head if it has a map, otherwise the previous head; at start, the first head of the story's circuit,
   * or else the head of min entropy.
   */
  private follow(): void {
    const { run, store } = this.context;
    const input = run.inputs[store.state.input]!;
    const chosen = store.state.head;
    if (chosen !== null && input.partOf(chosen)) this.selection.head = chosen;
    if (!input.partOf(this.selection.head)) this.selection.head = this.usual(input);
    this.selection.input = input.partOf(this.selection.head)!;
    if (!mapSet(this.selection)) this.selection.what = this.selection.input.pattern ? "pattern" : "scores";
  }
  private usual(input: CapturedInput): string {
    const { run } = this.context;
    const circuit = (storyCircuit(run)?.edges ?? []).flatMap((edge) => mappedHeads(run, edge.source));
    const [narrowest] = [...input.summaryOf("entropy")].sort((a, b) => a[1] - b[1]);
    return circuit.find((name) => input.partOf(name)) ?? narrowest?.[0] ?? input.heads[0]!;
  }

  async attach(section: HTMLElement): Promise<void> {
    const { run, store } = this.context;
    const heads = () => run.inputs[store.state.input]!.heads.map((value) => ({ value, label: value }));
    const head = select("Head", heads(), this.selection.head, (value) => store.set({ head: value }));
    const controls = el("div", { class: "controls" });
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
    const pair = el("div", { class: "pair even" });
    const add = (figure: Figure, to: HTMLElement) => {
      this.figures.push(figure);
      this.context.figures.push(figure);
      to.append(figure.element);
    };
    section.append(...inputChooser(this.context), controls, pair);
    const redraw = () => this.redraw();
    const pin = (row: number) => this.pin(row);
    add(new Figure(new MapFigure(this.context, this.selection, false, redraw, pin), store), pair);
    const inTrees = run.inputs.some((one) => one.parts.some((part) => part.pattern?.rows ?? part.scores?.rows));
    if (inTrees) {
      const figure = new Figure(new MapFigure(this.context, this.selection, true, redraw, pin), store);
      this.organized = figure;
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
    const query = new QueryAttention(this.selection, () => mapSet(this.selection), pin);
    add(new Figure(query, store), section);
    store.subscribe((state, changed) => {
      const before = this.selection.input;
      if (changed.has("query")) this.selection.pinned = state.query;
      if (changed.has("head") || changed.has("input")) {
        this.follow();
        head.setOptions(heads(), this.selection.head);
      }
      if (this.selection.input !== before) {
        this.selection.hovered = -1;
        void this.load();
      } else if (changed.has("head") || changed.has("query")) this.redraw();
    });
    await this.load();
  }

  private pin(row: number): void {
    const { store } = this.context;
    store.set({ query: store.state.query === row ? null : row });
  }
  private redraw(): void {
    if (this.organized) this.organized.element.hidden = !mapSet(this.selection).rows;
    this.figures.forEach((figure) => figure.redraw());
  }
  private async load(): Promise<void> {
    const set = mapSet(this.selection);
    const { run } = this.context;
    const { thumbnail } = this.selection.input;
    const [maps, photo] = await Promise.all([HeadMaps.load(run, set), thumbnail ? run.array(thumbnail) : null]);
    if (set !== mapSet(this.selection)) return; // another input was chosen in the meantime
    this.selection.maps = maps;
    this.selection.photo = photo;
    this.redraw();
  }
}

class MapFigure implements FigureSpec {
  readonly id: string;
  readonly title: string;
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private drawn: { key: string; maps: HeadMaps | null; cells: Cells; ends: [number, number] } | null = null;
  private readonly colors = lookup(viridis);

  constructor(
    private readonly context: Context,
    private readonly selection: MapSelection,
    private readonly isOrganized: boolean,
    private readonly changed: () => void,
    private readonly pin: (query: number) => void,
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

  /** Returns a function that reads the value of a cell of the drawing: one per query and key. */
  private reader(): { rows: number; columns: number; value: (row: number, column: number) => number } {
    const { maps } = this.selection;
    if (!maps) return { rows: 0, columns: 0, value: () => NaN };
    const { rows, columns } = this.order();
    const slice = this.slice();
    const value =
      this.isOrganized && maps.set.rows
        ? (r: number, c: number) => maps.organizedAt(slice, r, c)
        : (r: number, c: number) => maps.at(slice, r, c);
    return { rows: rows.length, columns: columns.length, value };
  }

  private update(): void {
    const { what, head, maps } = this.selection;
    if (this.drawn?.maps === maps && this.drawn?.key === head) return;
    const { rows, columns, value } = this.reader();
    const ends = minMax(rows, columns, value);
    if (what === "pattern") ends[0] = 0;
    this.drawn = {
      key: head,
      maps,
      ends,
      cells: colorCells(rows, columns, value, ends, this.colors, what === "pattern" ? 0.5 : 1),
    };
  }

  describe(): string {
    const set = mapSet(this.selection);
    const order = this.isOrganized ? "in the order of the trees" : "in the order of the input";
    return `Attention map of ${this.selection.head}, ${set.queries} queries by ${set.keys} keys ${order}. Up and down arrows move to a query, Enter keeps it.`;
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
    const at = rows.indexOf(shownQuery(this.selection));
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
      s.text(clip(queryName(this.selection.input, rows[i]!)), box.left - 5, box.top + (i + 0.5) * high, style);
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
    if (this.selection.hovered !== cell.query) {
      this.selection.hovered = cell.query;
      this.changed();
    }
    const { side } = mapSet(this.selection);
    const value = this.reader().value(cell.row, cell.column);
    const tip = [
      `${this.selection.head}: ${formatNumber(value)}`,
      {
        label: "query",
        value: `${cell.query + this.first()} ${isolated(queryName(this.selection.input, cell.query))}`,
      },
      { label: "key", value: `${cell.key} ${isolated(this.token(cell.key))}` },
    ];
    if (!this.selection.maps?.exact(this.slice())) tip.push(`mean over up to ${side} \u00d7 ${side} tokens`);
    return { tip };
  }
  click(x: number, y: number): void {
    const cell = this.cellAt(x, y);
    if (cell) this.pin(cell.query);
  }
  key(key: string): string | null {
    const now = shownQuery(this.selection);
    if (key === "Enter" && now >= 0) {
      this.pin(now);
      return "Query kept";
    }
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (step === 0) return null;
    const { rows } = this.order();
    const next = rows[Math.min(rows.length - 1, Math.max(0, rows.indexOf(now) + step))]!;
    this.selection.hovered = next;
    this.changed();
    return `Query ${next} ${queryName(this.selection.input, next)}`;
  }

  /** One row and one column per block of the map. */
  data() {
    const { rows, columns } = this.order();
    const set = mapSet(this.selection);
    const reader = this.reader();
    const pooled = !this.selection.maps?.exact(this.slice());
    const firsts = (count: number, starts: readonly number[] | undefined) =>
      !pooled ? range(count) : this.isOrganized || !starts ? range(count).filter((i) => i % set.side === 0) : starts;
    const { input } = this.selection;
    const key = (at: number) => `${at} ${input.tokens.tokens[at]?.text ?? ""}`;
    const query = (row: number) => `${row + this.first()} ${queryTokens(input)[row + this.first()]?.text ?? ""}`;
    const cell = (r: number, c: number) => {
      const value = reader.value(r, c);
      return Number.isNaN(value) ? null : Number(value.toPrecision(4));
    };
    const across = firsts(reader.columns, set.key_starts);
    return {
      columns: ["query", ...across.map((c) => key(columns[c]!))],
      rows: firsts(reader.rows, set.starts).map((r) => [query(rows[r]!), ...across.map((c) => cell(r, c))]),
    };
  }
}

/** Returns the label of a key in figures. */
export const tokenName = (input: Input, key: number) => visibleToken(input.tokens.tokens[key]?.text ?? "");
/** Returns the label of the query of a row. */
export const queryName = (input: Input, row: number) =>
  visibleToken(queryTokens(input)[row + (input.tokens.first_query ?? 0)]?.text ?? "");

/** Truncates a text to at most nine code points. */
export const clip = (text: string) => truncateEnd(text, 9);
