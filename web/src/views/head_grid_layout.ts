import type { Head } from "../data/head";

/** The height that a grid of few layers fits into. */
const gridHeight = 520;
const largestCell = 128;
/** The smallest cell of layers with at most 32 heads, and of larger ones. */
const smallestCell = [24, 18] as const;

/** Space left of the cells for the name of the layer. */
export const gutter = 40;

/** Places of the cells of a grid with one band of lines per layer. Units are CSS pixels. */
export interface GridLayout {
  cell: number;
  perLine: number;
  /** Heads of each layer: query heads, then KV heads. */
  layers: Head[][];
}

/**
 * Chooses the size of the cells, so that the grid fits into the width and, above 44 pixels, into a window. A layer that
 * does not fit into the width with the smallest cells continues on the next line.
 */
export function layoutGrid(heads: readonly Head[], layers: number, width: number): GridLayout {
  const rows: Head[][] = Array.from({ length: layers }, () => []);
  for (const head of heads) rows[head.layer]!.push(head);
  const widest = Math.max(1, ...rows.map((row) => row.length));
  const room = Math.max(28, width - gutter);
  const tallest = Math.max(44, gridHeight / Math.max(1, layers));
  const least = smallestCell[widest > 32 ? 1 : 0];
  const cell = Math.floor(Math.min(largestCell, tallest, Math.max(least, room / widest)));
  return { cell, perLine: Math.max(1, Math.min(widest, Math.floor(room / cell))), layers: rows };
}

/** Returns the height of the band of a layer. */
export function bandHeight(layout: GridLayout, layer: number): number {
  return Math.max(1, Math.ceil(layout.layers[layer]!.length / layout.perLine)) * layout.cell;
}

/** Returns the left top corner of a cell within the band of its layer. */
export function cellPlace({ cell, perLine }: GridLayout, i: number): { x: number; y: number } {
  return { x: gutter + (i % perLine) * cell, y: Math.floor(i / perLine) * cell };
}

/** Returns the labels of the columns: numbers of heads, then of KV heads unless they continue on another line. */
export function columnLabels({ perLine, layers }: GridLayout): string[] {
  const widest = layers.reduce((best, row) => (row.length > best.length ? row : best), layers[0] ?? []);
  return widest.slice(0, perLine).map(({ kv, index }) => (kv ? `kv${index}` : String(index)));
}

/** Returns the head at a point of the band of a layer. */
export function headAt(layout: GridLayout, layer: number, x: number, y: number): Head | undefined {
  const column = Math.floor((x - gutter) / layout.cell);
  if (column < 0 || column >= layout.perLine || y < 0) return undefined;
  return layout.layers[layer]?.[Math.floor(y / layout.cell) * layout.perLine + column];
}

/** Returns the head that an arrow key moves to; null for other keys. Up and down keep the place within the layer. */
export function moveInGrid({ layers }: GridLayout, from: Head, key: string): Head | null {
  const row = layers[from.layer]!;
  const at = row.indexOf(from);
  const next = (layer: number) => layers[layer]?.[Math.min(at, layers[layer].length - 1)];
  switch (key) {
    case "ArrowLeft":
      return row[at - 1] ?? from;
    case "ArrowRight":
      return row[at + 1] ?? from;
    case "ArrowUp":
      return next(from.layer - 1) ?? from;
    case "ArrowDown":
      return next(from.layer + 1) ?? from;
    case "Home":
      return row[0]!;
    case "End":
      return row.at(-1)!;
    default:
      return null;
  }
}
