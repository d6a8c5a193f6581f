import type { NumberArray } from "../data/array";
import type { Input } from "../data/doc";
import { loadShownInput, partWith, type ShownInput, type ShownPart } from "../data/head_maps";
import { isCross } from "../data/inputs";
import { patchAttention, patchGrid } from "../data/patches";
import type { Run } from "../data/run";
import type { Theme } from "../ui/theme";
import { rasterOf } from "./canvas";
import { lookup, viridis } from "./color";
import { colorCells, minMax } from "./heatmap";
import type { Cells } from "./surface";

/** Says how small pictures of heads on an input are drawn; for captions. */
export function mapImageNote(shown: Input | undefined): string {
  if (shown && patchGrid(shown))
    return "Color: attention to each patch of the image, the mean over all queries, or of the patch that you chose. Each picture has its own scale (viridis, square root).";
  const rows = shown && isCross(shown) ? "tokens of the target" : "queries";
  const columns = shown && isCross(shown) ? "tokens of the source" : "keys";
  return `Rows are ${rows}, columns are ${columns}. Each map has its own scale (viridis, square root). A pixel that covers several entries shows the largest. Entries that the mask hides are blank.`;
}

/** A matrix that is read entry by entry. NaN: no value. */
export interface Entries {
  rows: number;
  columns: number;
  value: (row: number, column: number) => number;
}

/** Returns the attention of a head in the order of the input, NaN where the mask hides it; null without a map. */
export function attentionOf({ input, maps }: Omit<ShownPart, "photo">, head: string): Entries | null {
  const slice = input.tokens.heads.indexOf(head);
  if (slice < 0) return null;
  const { rows, columns, value } = maps.stored(slice);
  const first = input.tokens.first_query ?? 0;
  const causal = input.tokens.mask === "causal";
  // A block is hidden if even its last query comes before its first key.
  const lastQuery = rows.map((_, r) => (rows[r + 1] ?? maps.set.queries) - 1 + first);
  const hidden = (r: number, c: number) => causal && columns[c]! > lastQuery[r]!;
  return {
    rows: rows.length,
    columns: columns.length,
    value: (r, c) => (hidden(r, c) ? NaN : value(r, c)),
  };
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

/**
 * Returns a picture of what a head attends to on an input, at most `longest` cells on a side: of a text its map, of an
 * image the attention to each patch, over the photograph. Null without a map.
 */
export function headCells(shown: ShownInput, head: string, longest: number, query: number | null): Cells | null {
  const part = partWith(shown, head);
  if (!part) return null;
  const grid = patchGrid(part.input);
  if (grid) {
    const slice = part.input.tokens.heads.indexOf(head);
    const queries = part.maps.set.queries;
    const weights = patchAttention(part.input, part.maps, slice, query !== null && query < queries ? query : null);
    return patchCells(weights, grid, part.photo, longest);
  }
  const entries = attentionOf(part, head);
  if (!entries || entries.rows === 0 || entries.columns === 0) return null;
  const { rows, columns, value } = poolMax(entries, longest);
  return colorCells(rows, columns, value, [0, minMax(rows, columns, value)[1]], ramp, 0.5);
}

/** Share of the color of the attention; the rest is the photograph in gray. */
const colorShare = 0.6;

/** Returns weights of patches as colors over a photograph, or alone if there is none. */
export function patchCells(
  weights: ArrayLike<number>,
  [gridRows, gridColumns]: readonly [number, number],
  photo: NumberArray | null,
  longest: number,
  low = 0,
): Cells {
  const longer = Math.max(gridRows, gridColumns);
  const side = photo ? Math.max(longest, longer) : longer;
  const rows = Math.round((side * gridRows) / longer);
  const columns = Math.round((side * gridColumns) / longer);
  const value = (r: number, c: number) =>
    weights[Math.floor((r * gridRows) / rows) * gridColumns + Math.floor((c * gridColumns) / columns)]!;
  let high = low;
  for (let i = 0; i < weights.length; ++i) if (weights[i]! > high) high = weights[i]!;
  const cells = colorCells(rows, columns, value, [low, high], ramp, 0.5);
  if (!photo) return cells;
  const [height, width] = photo.shape as [number, number, number];
  for (let r = 0; r < rows; ++r) {
    const line = Math.floor((r * height) / rows) * width;
    for (let c = 0; c < columns; ++c) {
      const at = r * columns + c;
      const from = 3 * (line + Math.floor((c * width) / columns));
      cells.colors[at] = mix(cells.colors[at]!, gray(photo, from), colorShare);
    }
  }
  return cells;
}

/** Returns the photograph itself as cells, at most `longest` on a side. */
export function photoCells(photo: NumberArray, longest: number): Cells {
  const [height, width] = photo.shape as [number, number, number];
  const factor = Math.max(1, Math.max(height, width) / longest);
  const [rows, columns] = [Math.max(1, Math.round(height / factor)), Math.max(1, Math.round(width / factor))];
  const colors = new Uint32Array(rows * columns);
  for (let r = 0; r < rows; ++r) {
    const line = Math.floor((r * height) / rows) * width;
    for (let c = 0; c < columns; ++c) {
      const from = 3 * (line + Math.floor((c * width) / columns));
      const [red, green, blue] = [photo.codes[from]!, photo.codes[from + 1]!, photo.codes[from + 2]!];
      colors[r * columns + c] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    }
  }
  return { rows, columns, colors };
}

/** Returns the brightness of a pixel, 0 to 255 (Rec. 601). */
function gray({ codes }: NumberArray, at: number): number {
  return 0.299 * codes[at]! + 0.587 * codes[at + 1]! + 0.114 * codes[at + 2]!;
}

/** Mixes a color (0: none) with a gray. */
function mix(color: number, level: number, share: number): number {
  const part = color === 0 ? 0 : share;
  const channel = (shift: number) => Math.round(((color >>> shift) & 255) * part + level * (1 - part)) << shift;
  return ((255 << 24) | channel(16) | channel(8) | channel(0)) >>> 0;
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

/** Drawn pictures of each run, by input, query, head, size and theme. */
const drawn = new WeakMap<Run, Map<string, Promise<HTMLCanvasElement | null>>>();

export interface PictureOf {
  input: number;
  /** For images: the query whose attention is shown; null: the mean over all. */
  query: number | null;
  theme: Theme;
}

/**
 * Returns a small picture of what a head attends to, `size` CSS pixels on a side; null if the run has no map of the head
 * for this input. `mapImageNote` says how to read it. The drawing is cached, but every call returns an element of its
 * own, so that the same picture can be in several places of the page.
 */
export async function mapImage(
  run: Run,
  head: string,
  size: number,
  { input, query, theme }: PictureOf,
): Promise<HTMLCanvasElement | null> {
  if (!drawn.has(run)) drawn.set(run, new Map());
  const cache = drawn.get(run)!;
  const scale = Math.min(3, window.devicePixelRatio || 1);
  const key = [input, query, head, size, theme.name, scale].join(" ");
  const pixels = Math.round(size * scale);
  if (!cache.has(key))
    cache.set(
      key,
      loadShownInput(run, input).then((shown) => {
        const cells = shown ? headCells(shown, head, pixels, query) : null;
        return cells ? drawCells(cells, pixels, theme) : null;
      }),
    );
  const image = await cache.get(key)!;
  return image ? copyOf(image, size, `Attention of ${head}`) : null;
}

/** Returns the photograph of an input; null if the page has none. */
export async function photoImage(run: Run, input: number, size: number, theme: Theme) {
  const packed = run.inputs[input]?.first.thumbnail;
  if (!packed) return null;
  const pixels = Math.round(size * Math.min(3, window.devicePixelRatio || 1));
  const cells = photoCells(await run.array(packed), pixels);
  return copyOf(drawCells(cells, pixels, theme), size, run.inputs[input]!.first.name);
}

function drawCells(cells: Cells, pixels: number, theme: Theme): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = pixels;
  canvas.height = pixels;
  drawMap(canvas.getContext("2d")!, cells, 0, 0, pixels, theme);
  return canvas;
}

function copyOf(image: HTMLCanvasElement, size: number, label: string): HTMLCanvasElement {
  const copy = document.createElement("canvas");
  copy.width = image.width;
  copy.height = image.height;
  copy.className = "map-image";
  copy.style.width = `${size}px`;
  copy.style.height = `${size}px`;
  copy.setAttribute("role", "img");
  copy.setAttribute("aria-label", label);
  copy.getContext("2d")!.drawImage(image, 0, 0);
  return copy;
}
