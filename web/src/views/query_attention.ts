import type { MapSet } from "../data/doc";
import { isCross } from "../data/inputs";
import { patchGrid } from "../data/patches";
import { formatNumber } from "../draw/axes";
import { inkOn, viridis } from "../draw/color";
import { range } from "../draw/heatmap";
import { patchCells, photoCells } from "../draw/map_image";
import type { Surface } from "../draw/surface";
import type { FigureSpec, Hit } from "../ui/figure";
import { isolated } from "../ui/dom";
import type { Theme } from "../ui/theme";
import { queryName, shownQuery, tokenName, type MapSelection } from "./maps";

interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Left edge of the patches; class and register tokens are left of them. */
const patchesLeft = 120;
const top = 34;

/** Attention of one query: its weights as colors behind the tokens of a text, or over the patches of a photograph. */
export class QueryAttention implements FigureSpec {
  readonly id = "query-attention";
  readonly title = "Attention of one query";
  private places: Place[] = [];

  constructor(
    private readonly selection: MapSelection,
    private readonly set: () => MapSet,
    private readonly pin: (query: number) => void,
  ) {}

  private grid(): [number, number] | null {
    return patchGrid(this.selection.input);
  }
  private query(): number {
    const query = shownQuery(this.selection);
    if (query >= 0 && query < this.set().queries) return query;
    return this.grid() ? 0 : this.set().queries - 1;
  }
  /** Returns the weights of the query on all keys; NaN for masked keys. */
  private weights(): number[] {
    const { keys } = this.set();
    const { maps, input } = this.selection;
    const head = input.tokens.heads.indexOf(this.selection.head);
    return range(keys).map((key) => maps?.at(head, this.query(), key) ?? NaN);
  }

  describe(): string {
    const { tokens } = this.selection.input;
    const weights = this.weights();
    const best = weights.reduce((most, value, i) => (value > (weights[most] ?? -Infinity) ? i : most), 0);
    const from = this.query() + (tokens.first_query ?? 0);
    return `Query ${from} (${queryName(this.selection.input, this.query())}) of ${this.selection.head} attends most to key ${best} (${tokenName(this.selection.input, best)}).`;
  }

  height(width: number): number {
    this.place(width);
    return Math.max(60, ...this.places.map((place) => place.y + place.height)) + 34;
  }

  /** Arranges text tokens in lines, or patches in their grid with all other tokens on the left. */
  private place(width: number, measure: (text: string) => number = (text) => 7 * text.length): void {
    const { tokens } = this.selection.input.tokens;
    const grid = this.grid();
    if (grid) {
      const cell = this.cellSide(width, grid);
      let others = 0;
      this.places = tokens.map((token) =>
        token.row === undefined || token.column === undefined
          ? { x: 12, y: top + 30 * others++, width: 90, height: 24 }
          : { x: patchesLeft + token.column * cell, y: top + token.row * cell, width: cell, height: cell },
      );
      return;
    }
    let x = 12;
    let y = top;
    this.places = tokens.map((_, i) => {
      const wide = Math.max(14, measure(tokenName(this.selection.input, i)) + 8);
      if (x + wide > width - 12 && x > 12) {
        x = 12;
        y += 26;
      }
      const place = { x, y, width: wide, height: 22 };
      x += wide + 3;
      return place;
    });
  }
  /** Returns the side of a patch. Where there is room, the photograph alone is beside the patches. */
  private cellSide(width: number, [rows, columns]: readonly [number, number]): number {
    const room = width - patchesLeft - 16;
    const beside = this.selection.photo && room > 420 ? (room - 16) / 2 : room;
    return Math.min(40, beside / columns, 420 / rows);
  }

  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    this.place(width, (text) => 7 * [...text].length);
    const { input } = this.selection;
    const weights = this.weights();
    const finite = weights.filter((value) => !Number.isNaN(value));
    const low = this.selection.what === "pattern" ? 0 : Math.min(...finite);
    const high = Math.max(low + 1e-12, ...finite);
    const from = this.query() + (input.tokens.first_query ?? 0);
    const kept = this.selection.pinned === this.query() ? ", kept" : "";
    s.text(
      `${this.selection.head}, query ${from}: ${isolated(queryName(input, this.query()))}${kept}; max weight ${formatNumber(high)}`,
      12,
      18,
    );
    const grid = this.grid();
    if (grid) this.drawPatches(s, width, grid, weights, low);
    this.places.forEach((place, i) => {
      const weight = weights[i] ?? NaN;
      const fill = Number.isNaN(weight) ? theme.grid : viridis(Math.sqrt((weight - low) / (high - low)));
      const patch = grid !== null && input.tokens.tokens[i]?.row !== undefined;
      if (!patch) s.rect(place.x, place.y, place.width - 1, place.height - 1, { fill, radius: grid ? 0 : 3 });
      if (i === from && !isCross(input)) this.mark(s, place);
      if (patch) return;
      const name = tokenName(input, i);
      const letters = [...name];
      const fitting = Math.max(
        1,
        Math.floor((place.width - 6) / Math.max(1, s.measure(name, 11) / Math.max(1, letters.length))),
      );
      const text = letters.length > fitting ? `${letters.slice(0, fitting - 1).join("")}\u2026` : name;
      const ink = Number.isNaN(weight) ? theme.faint : inkOn(fill);
      s.text(text, place.x + place.width / 2, place.y + place.height / 2, {
        anchor: "middle",
        baseline: "middle",
        size: 11,
        fill: ink,
      });
    });
  }
  /** Draws a frame that is visible on every color. */
  private mark(s: Surface, { x, y, width, height }: Place): void {
    s.rect(x, y, width - 1, height - 1, { stroke: "#000000", width: 4 });
    s.rect(x, y, width - 1, height - 1, { stroke: "#ffffff", width: 1.5 });
  }
  private drawPatches(s: Surface, width: number, grid: [number, number], weights: number[], low: number): void {
    const { input, photo } = this.selection;
    const cell = this.cellSide(width, grid);
    const [high, wide] = [grid[0] * cell, grid[1] * cell];
    const patches = new Float64Array(grid[0] * grid[1]).fill(NaN);
    input.tokens.tokens.forEach(({ row, column }, key) => {
      if (row !== undefined && column !== undefined) patches[row * grid[1] + column] = weights[key] ?? NaN;
    });
    s.cells(patchCells(patches, grid, photo, 320, low), patchesLeft, top, wide, high);
    if (!photo || patchesLeft + 2 * wide + 16 > width) return;
    s.cells(photoCells(photo, 320), patchesLeft + wide + 16, top, wide, high);
    s.text("the image as the model sees it", patchesLeft + wide + 16, top + high + 16, { size: 11 });
    s.text("attention to each patch", patchesLeft, top + high + 16, { size: 11 });
  }

  private at(x: number, y: number): number {
    return this.places.findIndex(
      (place) => x >= place.x && x < place.x + place.width && y >= place.y && y < place.y + place.height,
    );
  }
  hit(x: number, y: number): Hit | null {
    const i = this.at(x, y);
    if (i < 0) return null;
    return {
      tip: [
        `${i} ${isolated(tokenName(this.selection.input, i))}`,
        { label: "weight", value: formatNumber(this.weights()[i] ?? NaN) },
      ],
    };
  }
  /** Shows the attention of the token that was clicked. */
  click(x: number, y: number): void {
    // In cross-attention, the tokens of the figure are no queries.
    if (isCross(this.selection.input)) return;
    const query = this.at(x, y) - (this.selection.input.tokens.first_query ?? 0);
    if (query < 0 || query >= this.set().queries) return;
    this.selection.hovered = -1;
    this.pin(query);
  }
  key(key: string): string | null {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (step === undefined) return null;
    const next = Math.min(this.set().queries - 1, Math.max(0, this.query() + step));
    this.selection.hovered = -1;
    if (next !== this.selection.pinned) this.pin(next);
    return `Query ${next} ${queryName(this.selection.input, next)}`;
  }

  data() {
    const weights = this.weights();
    return {
      columns: ["key", "token", this.selection.what === "pattern" ? "attention" : "score"],
      rows: weights.map((weight, i) => [
        i,
        this.selection.input.tokens.tokens[i]?.text ?? "",
        Number.isNaN(weight) ? null : Number(weight.toPrecision(4)),
      ]),
    };
  }
}
