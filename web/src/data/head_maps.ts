import type { NumberArray } from "./array";
import type { Input, MapSet } from "./doc";
import type { Run } from "./run";

/** Returns the block of each of `count` elements, given the first elements of all blocks. */
export function blocksOf(starts: readonly number[], count: number): Uint32Array {
  const blocks = new Uint32Array(count);
  starts.forEach((start, block) => blocks.fill(block, start, starts[block + 1] ?? count));
  return blocks;
}

/** The map of one head as the page has it: a row and a column per token, or per block of tokens. */
export interface StoredMap {
  /** First query of each row and first key of each column. */
  rows: readonly number[];
  columns: readonly number[];
  value: (row: number, column: number) => number;
}

/** The maps of all heads of one input, read entry by entry: as they are where the page has them, else means of blocks. */
export class HeadMaps {
  private readonly rowStarts: readonly number[];
  private readonly columnStarts: readonly number[];
  private readonly rows: Uint32Array;
  private readonly columns: Uint32Array;

  constructor(
    readonly set: MapSet,
    private readonly maps: NumberArray,
    private readonly full: NumberArray | null,
    private readonly organized: NumberArray | null,
  ) {
    this.rowStarts = set.starts ?? each(set.queries);
    this.columnStarts = set.key_starts ?? each(set.keys);
    this.rows = blocksOf(this.rowStarts, set.queries);
    this.columns = blocksOf(this.columnStarts, set.keys);
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

  /** Returns the map of a head without repeating the means of blocks. */
  stored(head: number): StoredMap {
    const { queries, keys, full } = this.set;
    const kept = this.full ? (full?.heads.indexOf(head) ?? -1) : -1;
    const array = kept >= 0 ? this.full! : this.maps;
    const rows = kept >= 0 ? each(queries) : this.rowStarts;
    const columns = kept >= 0 ? each(keys) : this.columnStarts;
    const base = (kept >= 0 ? kept : head) * rows.length * columns.length;
    return { rows, columns, value: (row, column) => array.at(base + row * columns.length + column) };
  }

  /** Returns the attention of a query to a key, or the mean of their block; NaN if the mask hides it. */
  at(head: number, query: number, key: number): number {
    const full = this.set.full?.heads.indexOf(head) ?? -1;
    if (full >= 0 && this.full) return this.full.at((full * this.set.queries + query) * this.set.keys + key);
    const [height, width] = [this.rowStarts.length, this.columnStarts.length];
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

const each = (count: number) => Array.from({ length: count }, (_, i) => i);

/** What small pictures of heads on one input are made from: a part per block of heads, as in `CapturedInput`. */
export type ShownInput = ShownPart[];

export interface ShownPart {
  input: Input;
  maps: HeadMaps;
  /** The image behind the patches, [height, width, 3]; null for texts, or if the page has none. */
  photo: NumberArray | null;
}

const loaded = new WeakMap<Input, Promise<ShownPart>>();

/** Loads the attention after softmax on an input of the run, each part once; null if the page has none. */
export async function loadShownInput(run: Run, at: number): Promise<ShownInput | null> {
  const parts = (run.inputs[at]?.parts ?? []).filter((part) => part.pattern);
  return parts.length > 0 ? Promise.all(parts.map((part) => loadPart(run, part))) : null;
}

function loadPart(run: Run, input: Input): Promise<ShownPart> {
  const found = loaded.get(input);
  if (found) return found;
  const photo = input.thumbnail ? run.array(input.thumbnail) : null;
  const part = Promise.all([HeadMaps.load(run, input.pattern!), photo]).then(([maps, image]) => ({
    input,
    maps,
    photo: image,
  }));
  loaded.set(input, part);
  return part;
}

/** Returns the part that has the maps of a head. */
export function partWith(shown: ShownInput, head: string): ShownPart | undefined {
  return shown.find(({ input }) => input.tokens.heads.includes(head));
}
