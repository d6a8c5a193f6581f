import type { NumberArray } from "../data/array";
import type { Cells } from "./surface";

/** Colors cells by `value(row, column)` on a scale between `ends`, and clamps values outside. NaN stays blank. */
export function colorCells(
  rows: number,
  columns: number,
  value: (row: number, column: number) => number,
  ends: readonly [number, number],
  colors: Uint32Array,
  power = 1,
): Cells {
  const cells: Cells = { rows, columns, colors: new Uint32Array(rows * columns) };
  const scale = ends[1] > ends[0] ? 1 / (ends[1] - ends[0]) : 0;
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const share = (value(row, column) - ends[0]) * scale;
      if (Number.isNaN(share)) continue;
      const at = Math.round(255 * Math.min(1, Math.max(0, share)) ** power);
      cells.colors[row * columns + column] = colors[at]!;
    }
  }
  return cells;
}

/** Returns the min and max of all values that are not NaN; [0, 0] if there are none. */
export function minMax(
  rows: number,
  columns: number,
  value: (row: number, column: number) => number,
): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const one = value(row, column);
      if (Number.isNaN(one)) continue;
      low = Math.min(low, one);
      high = Math.max(high, one);
    }
  }
  return low > high ? [0, 0] : [low, high];
}

/** Reads a matrix, or one slice of a stack of matrices, with its rows and columns reordered. */
export function orderedMatrix(array: NumberArray, rows: readonly number[], columns: readonly number[], slice = 0) {
  const [height, width] = array.shape.slice(-2) as [number, number];
  const base = slice * height * width;
  return (row: number, column: number) => array.at(base + rows[row]! * width + columns[column]!);
}

export const range = (count: number) => Array.from({ length: count }, (_, i) => i);
