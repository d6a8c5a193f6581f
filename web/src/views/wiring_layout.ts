import { componentKinds, parseComponent, type ComponentKind } from "../data/components";
import { compareHeads, type BlockLayer, type Head } from "../data/head";
import type { Layers } from "../data/layers";
import type { Box } from "../draw/axes";

export interface Place {
  column: number;
  /** Row in units of the distance between rows; rows of KV heads and of other components follow a gap of one unit. */
  row: number;
}

/** Cells of heads and other components: one column per layer, as layers run; query heads above KV heads above the rest. */
export class WiringLayout {
  readonly places = new Map<string, Place>();
  /** Number of rows, with the gaps between kinds. */
  readonly units: number;
  readonly queryRows: number;
  readonly kvTop: number;
  readonly kvRows: number;
  /** Rows of the kinds of components that are shown. */
  readonly componentRows = new Map<ComponentKind, number>();
  private readonly names = new Map<string, string>();

  /** `folded`: rows are places in the column rather than numbers of heads, so that there are no empty rows. */
  constructor(
    heads: readonly Head[],
    components: readonly string[],
    private readonly layers: Layers,
    readonly folded: boolean,
  ) {
    const sorted = [...heads].sort(compareHeads);
    const used = new Map<string, number>();
    const rowOf = (head: Head) => {
      const key = `${head.block} ${head.layer} ${head.kv}`;
      const next = used.get(key) ?? 0;
      used.set(key, next + 1);
      return folded ? next : head.index;
    };
    const rows = sorted.map((head) => ({ head, row: rowOf(head) }));
    const count = (kv: boolean) =>
      rows.reduce((most, { head, row }) => (head.kv === kv ? Math.max(most, row + 1) : most), 0);
    this.queryRows = count(false);
    this.kvRows = count(true);
    this.kvTop = this.queryRows + (this.queryRows > 0 ? 1 : 0);
    const end = this.kvRows > 0 ? this.kvTop + this.kvRows : this.queryRows;
    const others = components.map((name) => ({ name, ...parseComponent(name)! }));
    const first = end + (end > 0 ? 1 : 0);
    for (const kind of componentKinds)
      if (others.some((one) => one.kind === kind)) this.componentRows.set(kind, first + this.componentRows.size);
    this.units = Math.max(1, others.length > 0 ? first + this.componentRows.size : end);
    for (const { head, row } of rows)
      this.put(head.name, { column: layers.column(head), row: head.kv ? this.kvTop + row : row });
    for (const { name, layer, kind } of others)
      this.put(name, { column: layers.column({ block: "", layer }), row: this.componentRows.get(kind)! });
  }

  get columns(): number {
    return this.layers.count;
  }

  private put(name: string, place: Place): void {
    this.places.set(name, place);
    this.names.set(`${place.column} ${place.row}`, name);
  }

  /** Returns the center of a cell within a box; null for a name that is not shown. */
  center(name: string, box: Box): { x: number; y: number } | null {
    const place = this.places.get(name);
    if (!place) return null;
    return {
      x: box.left + ((place.column + 0.5) * box.width) / this.columns,
      y: box.top + ((place.row + 0.5) * box.height) / this.units,
    };
  }
  /** Returns the name in the cell that contains a point. */
  at(x: number, y: number, box: Box): string | null {
    const column = Math.floor(((x - box.left) / box.width) * this.columns);
    const row = Math.floor(((y - box.top) / box.height) * this.units);
    return this.names.get(`${column} ${row}`) ?? null;
  }
  /** Half the side of the square of a head. The rest of the cell is room for lines. */
  radius(box: Box): number {
    return Math.min(13, (0.34 * box.height) / this.units, (0.3 * box.width) / this.columns);
  }
  /** Returns the head that an arrow key moves to among the cells that are shown. */
  step(from: string | null, key: string): string | null {
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const move = moves[key];
    const heads = [...this.places].filter(([name]) => parseComponent(name) === null);
    if (!move || heads.length === 0) return null;
    const at = from === null ? undefined : this.places.get(from);
    if (!at) return heads[0]![0];
    // The nearest cell in this direction; sideways distance counts more, so that rows and columns are followed.
    const cost = ({ column, row }: Place) => {
      const [along, across] = move[0] !== 0 ? [column - at.column, row - at.row] : [row - at.row, column - at.column];
      const ahead = along * (move[0] + move[1]);
      return ahead <= 0 || (move[0] === 0 && across !== 0) ? Infinity : ahead * 1000 + Math.abs(across);
    };
    let best = from;
    let least = Infinity;
    for (const [name, place] of heads) {
      const one = cost(place);
      if (one < least) [best, least] = [name, one];
    }
    return best;
  }
}

/** Returns the label of a column: the number of the layer, after a c in cross-attention. */
export const columnLabel = ({ block, layer }: BlockLayer) => (block === "cross" ? `c${layer}` : String(layer));

/** Columns side by side with one name: all, or those of the encoder and those of the decoder. */
export interface ColumnGroup {
  first: number;
  last: number;
  name: string;
}

/** Returns the groups of columns, given the layers as they run. */
export function columnGroups(asRun: readonly BlockLayer[]): ColumnGroup[] {
  const inDecoder = ({ block }: BlockLayer) => block === "decoder" || block === "cross";
  const group = (first: number, last: number): ColumnGroup => {
    const blocks = new Set(asRun.slice(first, last + 1).map(({ block }) => block));
    if (blocks.has("")) return { first, last, name: "layer" };
    if (blocks.has("encoder")) return { first, last, name: "encoder layer" };
    return { first, last, name: blocks.has("cross") ? "decoder layer (c: cross-attention)" : "decoder layer" };
  };
  if (asRun.length === 0) return [];
  const begin = asRun.findIndex(inDecoder);
  const last = asRun.length - 1;
  return begin > 0 ? [group(0, begin - 1), group(begin, last)] : [group(0, last)];
}
