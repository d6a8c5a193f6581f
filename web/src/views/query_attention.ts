import type { MapSet } from "../data/doc";
import { formatNumber } from "../draw/axes";
import { inkOn, viridis } from "../draw/color";
import { orderedMatrix, range } from "../draw/heatmap";
import type { Surface } from "../draw/surface";
import type { FigureSpec, Hit } from "../ui/figure";
import { isolated } from "../ui/dom";
import type { Theme } from "../ui/theme";
import { tokenName, type MapSelection } from "./maps";

interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Attention of one query: its weights as colors behind the tokens of a text or on the patches of an image. */
export class QueryAttention implements FigureSpec {
  readonly id = "query-attention";
  readonly title = "Attention of one query";
  private places: Place[] = [];

  constructor(
    private readonly selection: MapSelection,
    private readonly set: () => MapSet,
  ) {}

  private get image(): boolean {
    return this.selection.input.tokens.kind === "image" && this.grid() !== null;
  }
  /** Returns the numbers of rows and columns of patches. */
  private grid(): [number, number] | null {
    const { tokens, image } = this.selection.input.tokens;
    if (image?.grid) return image.grid;
    const rows = Math.max(...tokens.map((token) => token.row ?? -1)) + 1;
    const columns = Math.max(...tokens.map((token) => token.column ?? -1)) + 1;
    return rows > 0 && columns > 0 ? [rows, columns] : null;
  }
  private query(): number {
    if (this.selection.query >= 0) return this.selection.query;
    return this.image ? 0 : this.set().queries - 1;
  }
  /** Returns the weights of the query on all keys; NaN for masked keys. */
  private weights(): number[] {
    const { side, keys } = this.set();
    const { array } = this.selection;
    if (!array) return range(keys).map(() => NaN);
    const slice = this.selection.input.tokens.heads.indexOf(this.selection.head);
    const [high, wide] = array.shape.slice(-2) as [number, number];
    const value = orderedMatrix(array, range(high), range(wide), slice);
    const last = this.query() + (this.selection.input.tokens.first_query ?? 0);
    const hidden = (key: number) => this.selection.input.tokens.mask === "causal" && key > last;
    return range(keys).map((key) =>
      hidden(key) ? NaN : value(Math.floor(this.query() / side), Math.floor(key / side)),
    );
  }

  describe(): string {
    const { tokens } = this.selection.input;
    const weights = this.weights();
    const best = weights.reduce((top, value, i) => (value > (weights[top] ?? -Infinity) ? i : top), 0);
    const from = this.query() + (tokens.first_query ?? 0);
    return `Query ${from} (${tokenName(this.selection.input, from)}) of ${this.selection.head} attends most to key ${best} (${tokenName(this.selection.input, best)}).`;
  }

  height(width: number): number {
    this.place(width);
    return Math.max(60, ...this.places.map((place) => place.y + place.height)) + 34;
  }

  /** Arranges text tokens in lines, or patches in their grid with all other tokens on the left. */
  private place(width: number, measure: (text: string) => number = (text) => 7 * text.length): void {
    const { tokens } = this.selection.input.tokens;
    const grid = this.image ? this.grid() : null;
    if (grid) {
      const cell = Math.max(14, Math.min(40, (width - 160) / grid[1], 420 / grid[0]));
      let others = 0;
      this.places = tokens.map((token) =>
        token.row === undefined || token.column === undefined
          ? { x: 12, y: 34 + 30 * others++, width: 90, height: 24 }
          : { x: 120 + token.column * cell, y: 34 + token.row * cell, width: cell, height: cell },
      );
      return;
    }
    let x = 12;
    let y = 34;
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

  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    this.place(width, (text) => 7 * [...text].length);
    const { input } = this.selection;
    const weights = this.weights();
    const finite = weights.filter((value) => !Number.isNaN(value));
    const low = this.selection.what === "pattern" ? 0 : Math.min(...finite);
    const high = Math.max(low + 1e-12, ...finite);
    const from = this.query() + (input.tokens.first_query ?? 0);
    s.text(
      `${this.selection.head}, query ${from}: ${isolated(tokenName(input, from))}; max weight ${formatNumber(high)}`,
      12,
      18,
    );
    this.places.forEach((place, i) => {
      const weight = weights[i] ?? NaN;
      const fill = Number.isNaN(weight) ? theme.grid : viridis(Math.sqrt((weight - low) / (high - low)));
      s.rect(place.x, place.y, place.width - 1, place.height - 1, { fill, radius: this.image ? 0 : 3 });
      if (i === from)
        s.rect(place.x - 0.5, place.y - 0.5, place.width, place.height, {
          stroke: theme.mark,
          width: 2,
          radius: this.image ? 0 : 3,
        });
      if (this.image && input.tokens.tokens[i]?.row !== undefined) return;
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
