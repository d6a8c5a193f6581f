import type { NumberArray } from "../data/array";
import type { Input, MapSet } from "../data/doc";
import type { Run } from "../data/run";
import type { Theme } from "../ui/theme";
import { rasterOf } from "./canvas";
import { lookup, viridis } from "./color";
import { colorCells, minMax } from "./heatmap";
import type { Cells } from "./surface";

/** Says how small maps are drawn; for captions. */
export const mapImageNote =
  "Rows are queries, columns are keys. Each map has its own scale (viridis, square root). A pixel that covers several entries shows the largest. Entries that the mask hides are blank.";

/** A matrix that is read entry by entry. NaN: no value. */
export interface Entries {
  rows: number;
  columns: number;
  value(row: number, column: number): number;
}

/** Returns the tokens at which block `i` of an axis begins and ends; the end is exclusive. */
function blockOf(i: number, side: number, length: number, starts: readonly number[] | undefined): [number, number] {
  const begin = starts?.[i] ?? i * side;
  const end = starts ? (starts[i + 1] ?? length) : Math.min(length, (i + 1) * side);
  return [begin, end];
}

/** Returns the attention of a head in the order of the input, NaN where the mask hides it; null without a map. */
export function attentionOf(input: Input, array: NumberArray, head: string): Entries | null {
  const set: MapSet | undefined = input.pattern;
  const slice = input.tokens.heads.indexOf(head);
  if (!set || slice < 0) return null;
  const [rows, columns] = array.shape.slice(-2) as [number, number];
  const base = slice * rows * columns;
  const first = input.tokens.first_query ?? 0;
  const causal = input.tokens.mask === "causal";
  // A block is hidden if even its last query comes before its first key.
  const lastQuery = Float64Array.from({ length: rows }, (_, r) => blockOf(r, set.side, set.queries, set.starts)[1] - 1);
  const firstKey = Float64Array.from({ length: columns }, (_, c) => blockOf(c, set.side, set.keys, set.key_starts)[0]);
  const hidden = (r: number, c: number) => causal && firstKey[c]! > lastQuery[r]! + first;
  return { rows, columns, value: (r, c) => (hidden(r, c) ? NaN : array.at(base + r * columns + c)) };
}

/**
 * Shrinks a matrix so that neither side is longer than `longest`. An entry of the result is the max of its block,
 * NaN if the block has no value. A mean would erase lines of one entry, such as those of a previous-token head.
 */
export function poolMax(from: Entries, longest: number): Entries {
  const factor = Math.max(1, Math.max(from.rows, from.columns) / Math.max(1, longest));
  if (factor === 1) return from;
  const rows = Math.max(1, Math.round(from.rows / factor));
  const columns = Math.max(1, Math.round(from.columns / factor));
  const values = new Float64Array(rows * columns).fill(NaN);
  for (let r = 0; r < from.rows; ++r) {
    const row = Math.floor((r * rows) / from.rows);
    for (let c = 0; c < from.columns; ++c) {
      const at = row * columns + Math.floor((c * columns) / from.columns);
      const value = from.value(r, c);
      if (value > values[at]! || Number.isNaN(values[at]!)) values[at] = value;
    }
  }
  return { rows, columns, value: (r, c) => values[r * columns + c]! };
}

const ramp = lookup(viridis);

/** Returns the map of a head as colored cells, at most `longest` on a side; null without a map. */
export function mapCells(input: Input, array: NumberArray, head: string, longest: number): Cells | null {
  const entries = attentionOf(input, array, head);
  if (!entries || entries.rows === 0 || entries.columns === 0) return null;
  const { rows, columns, value } = poolMax(entries, longest);
  return colorCells(rows, columns, value, [0, minMax(rows, columns, value)[1]], ramp, 0.5);
}

/** Draws cells into a square, centered if they are not square, on the background color of the theme. */
export function drawMap(
  context: CanvasRenderingContext2D,
  cells: Cells,
  x: number,
  y: number,
  size: number,
  theme: Theme,
): void {
  const longer = Math.max(cells.rows, cells.columns);
  const [width, height] = [(size * cells.columns) / longer, (size * cells.rows) / longer];
  context.fillStyle = theme.background;
  context.fillRect(x, y, size, size);
  context.imageSmoothingEnabled = false;
  context.drawImage(rasterOf(cells), x + (size - width) / 2, y + (size - height) / 2, width, height);
}

/** Drawn maps of each run, by input, head, size and theme. */
const drawn = new WeakMap<Run, Map<string, Promise<HTMLCanvasElement | null>>>();

/**
 * Returns a small image of the attention of a head after softmax, `size` CSS pixels on a side; null if the run has no
 * map of the head for this input. `mapImageNote` says how to read it. The drawing is cached, but every call returns an
 * element of its own, so that the same map can be in several places of the page.
 */
export async function mapImage(
  run: Run,
  input: number,
  head: string,
  size: number,
  theme: Theme,
): Promise<HTMLCanvasElement | null> {
  if (!drawn.has(run)) drawn.set(run, new Map());
  const cache = drawn.get(run)!;
  const scale = Math.min(3, window.devicePixelRatio || 1);
  const key = [input, head, size, theme.name, scale].join(" ");
  if (!cache.has(key)) cache.set(key, drawImage(run, input, head, Math.round(size * scale), theme));
  const image = await cache.get(key)!;
  if (!image) return null;
  const copy = document.createElement("canvas");
  copy.width = image.width;
  copy.height = image.height;
  copy.className = "map-image";
  copy.style.width = `${size}px`;
  copy.style.height = `${size}px`;
  copy.setAttribute("role", "img");
  copy.setAttribute("aria-label", `Attention map of ${head}`);
  copy.getContext("2d")!.drawImage(image, 0, 0);
  return copy;
}

async function drawImage(
  run: Run,
  at: number,
  head: string,
  pixels: number,
  theme: Theme,
): Promise<HTMLCanvasElement | null> {
  const input = run.doc.inputs?.[at];
  if (!input?.pattern || !input.tokens.heads.includes(head)) return null;
  const cells = mapCells(input, await run.array(input.pattern.maps), head, pixels);
  if (!cells) return null;
  const canvas = document.createElement("canvas");
  canvas.width = pixels;
  canvas.height = pixels;
  drawMap(canvas.getContext("2d")!, cells, 0, 0, pixels, theme);
  return canvas;
}
