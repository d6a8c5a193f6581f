import type { NumberArray } from "./array";
import type { MapSet } from "./doc";
import type { Run } from "./run";

/** Returns the block of each of `count` elements, given the first elements of all blocks. */
export function blocksOf(starts: readonly number[], count: number): Uint32Array {
  const blocks = new Uint32Array(count);
  starts.forEach((start, block) => blocks.fill(block, start, starts[block + 1] ?? count));
  return blocks;
}

/** The maps of all heads of one input, read entry by entry: as they are where the page has them, else means of blocks. */
export class HeadMaps {
  private readonly rows: Uint32Array;
  private readonly columns: Uint32Array;

  constructor(
    readonly set: MapSet,
    private readonly maps: NumberArray,
    private readonly full: NumberArray | null,
    private readonly organized: NumberArray | null,
  ) {
    const each = (count: number) => Array.from({ length: count }, (_, i) => i);
    this.rows = blocksOf(set.starts ?? each(set.queries), set.queries);
    this.columns = blocksOf(set.key_starts ?? each(set.keys), set.keys);
  }

  static async load(run: Run, set: MapSet): Promise<HeadMaps> {
    const [maps, full, organized] = await Promise.all([
      run.array(set.maps),
      set.full ? run.array(set.full.maps) : null,
      set.organized ? run.array(set.organized) : null,
    ]);
    return new HeadMaps(set, maps, full, organized);
  }

  /** Whether the values of a head (an index in tokens.heads) are entries of its map, not means. */
  exact(head: number): boolean {
    return this.set.side === 1 || (this.set.full?.heads.includes(head) ?? false);
  }

  /** Returns the attention of a query to a key, or the mean of their block; NaN if the mask hides it. */
  at(head: number, query: number, key: number): number {
    const full = this.set.full?.heads.indexOf(head) ?? -1;
    if (full >= 0 && this.full) return this.full.at((full * this.set.queries + query) * this.set.keys + key);
    const [height, width] = this.maps.shape.slice(-2) as [number, number];
    return this.maps.at((head * height + this.rows[query]!) * width + this.columns[key]!);
  }

  /** The same for a row and a column in the order of organize. */
  organizedAt(head: number, row: number, column: number): number {
    const { side, rows, columns } = this.set;
    if (this.exact(head) || !this.organized) return this.at(head, rows![row]!, columns![column]!);
    const [height, width] = this.organized.shape.slice(-2) as [number, number];
    return this.organized.at((head * height + Math.floor(row / side)) * width + Math.floor(column / side));
  }
}
