import type { Head } from "../data/head";
import { blockName, type Layers } from "../data/layers";

/** The height that a grid of few layers fits into. */
const gridHeight = 520;
const largestCell = 128;
/** The smallest cell of layers with at most 32 heads, and of larger ones. */
const smallestCell = [24, 18] as const;

/** Height of the name above the first band of a block of layers. */
export const titleHeight = 30;

/** Space left of the cells for the name of the layer. */
export const gutter = 40;

/** Places of the cells of a grid with one band of lines per layer, block by block. Units are CSS pixels. */
export interface GridLayout {
  cell: number;
  perLine: number;
  /** Heads of the layer of each band: query heads, then KV heads. */
  bands: Head[][];
  layers: Layers;
}

/**
 * Chooses the size of the cells, so that the grid fits into the width and, above 44 pixels, into a window. A layer that
 * does not fit into the width with the smallest cells continues on the next line.
 */
export function layoutGrid(heads: readonly Head[], layers: Layers, width: number): GridLayout {
  const rows: Head[][] = layers.byBlock.map(() => []);
  for (const head of heads) rows[layers.band(head)]!.push(head);
  const widest = Math.max(1, ...rows.map((row) => row.length));
  const room = Math.max(28, width - gutter);
  const tallest = Math.max(44, gridHeight / Math.max(1, layers.count));
  const least = smallestCell[widest > 32 ? 1 : 0];
  const cell = Math.floor(Math.min(largestCell, tallest, Math.max(least, room / widest)));
  return { cell, perLine: Math.max(1, Math.min(widest, Math.floor(room / cell))), bands: rows, layers };
}

/** Returns the height of a band. */
export function bandHeight(layout: GridLayout, band: number): number {
  return Math.max(1, Math.ceil(layout.bands[band]!.length / layout.perLine)) * layout.cell;
}

/** Returns the name of the block that begins with a band, which is above it; null if no block with a name does. */
export function bandTitle({ layers }: GridLayout, band: number): string | null {
  const { block, layer } = layers.byBlock[band]!;
  return layer === 0 && block !== "" ? blockName(block) : null;
}

/** Returns the distance of a band from the top of the grid. */
export function bandTop(layout: GridLayout, band: number): number {
  let top = 0;
  for (let i = 0; i <= band; ++i)
    top += (bandTitle(layout, i) === null ? 0 : titleHeight) + (i < band ? bandHeight(layout, i) : 0);
  return top;
}

/** Returns the left top corner of a cell within its band. */
export function cellPlace({ cell, perLine }: GridLayout, i: number): { x: number; y: number } {
  return { x: gutter + (i % perLine) * cell, y: Math.floor(i / perLine) * cell };
}

/** Returns the labels of the columns: numbers of heads, then of KV heads unless they continue on another line. */
export function columnLabels({ perLine, bands }: GridLayout): string[] {
  const widest = bands.reduce((best, row) => (row.length > best.length ? row : best), bands[0] ?? []);
  return widest.slice(0, perLine).map(({ kv, index }) => (kv ? `kv${index}` : String(index)));
}

/** Returns the head at a point of a band. */
export function headAt(layout: GridLayout, band: number, x: number, y: number): Head | undefined {
  const column = Math.floor((x - gutter) / layout.cell);
  if (column < 0 || column >= layout.perLine || y < 0) return undefined;
  return layout.bands[band]?.[Math.floor(y / layout.cell) * layout.perLine + column];
}

/** Returns the head that an arrow key moves to; null for other keys. Up and down keep the place within the layer. */
export function moveInGrid({ bands, layers }: GridLayout, from: Head, key: string): Head | null {
  const band = layers.band(from);
  const row = bands[band]!;
  const at = row.indexOf(from);
  const next = (to: number) => bands[to]?.[Math.min(at, bands[to].length - 1)];
  switch (key) {
    case "ArrowLeft":
      return row[at - 1] ?? from;
    case "ArrowRight":
      return row[at + 1] ?? from;
    case "ArrowUp":
      return next(band - 1) ?? from;
    case "ArrowDown":
      return next(band + 1) ?? from;
    case "Home":
      return row[0]!;
    case "End":
      return row.at(-1)!;
    default:
      return null;
  }
}
