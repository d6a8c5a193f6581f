import type { Input } from "./doc";
import type { HeadMaps } from "./head_maps";

/** Returns the numbers of rows and columns of patches; null for texts and for images without a grid. */
export function patchGrid({ tokens: { kind, image, tokens } }: Input): [number, number] | null {
  if (kind !== "image") return null;
  if (image?.grid) return image.grid;
  const rows = Math.max(...tokens.map((token) => token.row ?? -1)) + 1;
  const columns = Math.max(...tokens.map((token) => token.column ?? -1)) + 1;
  return rows > 0 && columns > 0 ? [rows, columns] : null;
}

/**
 * Returns the attention of a head to each patch, row by row: of one query, or the mean over all queries (null). NaN:
 * there is no such patch among the keys.
 */
export function patchAttention(input: Input, maps: HeadMaps, head: number, query: number | null): Float64Array {
  const [rows, columns] = patchGrid(input) ?? [0, 0];
  const found = new Float64Array(rows * columns).fill(NaN);
  const perKey = query === null ? meanOverQueries(maps, head) : null;
  for (let key = 0; key < maps.set.keys; ++key) {
    const { row, column } = input.tokens.tokens[key] ?? {};
    if (row === undefined || column === undefined || row >= rows || column >= columns) continue;
    found[row * columns + column] = perKey ? perKey[key]! : maps.at(head, query!, key);
  }
  return found;
}

function meanOverQueries(maps: HeadMaps, head: number): Float64Array {
  const { queries, keys } = maps.set;
  const map = maps.stored(head);
  const end = (starts: readonly number[], i: number, length: number) => starts[i + 1] ?? length;
  const means = new Float64Array(keys);
  map.columns.forEach((first, c) => {
    let sum = 0;
    map.rows.forEach((row, r) => (sum += (map.value(r, c) || 0) * (end(map.rows, r, queries) - row)));
    means.fill(sum / Math.max(1, queries), first, end(map.columns, c, keys));
  });
  return means;
}
