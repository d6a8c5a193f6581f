import { mlpLayer } from "../data/components";
import { compareHeads, type Head } from "../data/head";
import type { Box } from "../draw/axes";

export interface Place {
  column: number;
  /** Row in units of the distance between rows; rows of KV heads and MLPs follow a gap of one unit. */
  row: number;
}

/** Cells of heads and MLPs: one column per layer, query heads above KV heads above the MLP. */
export class WiringLayout {
  readonly places = new Map<string, Place>();
  /** Number of rows, with the gaps between kinds. */
  readonly units: number;
  readonly queryRows: number;
  readonly kvTop: number;
  readonly kvRows: number;
  readonly mlpRow: number;
  private readonly names = new Map<string, string>();

  /** `folded`: rows are places in the column rather than numbers of heads, so that there are no empty rows. */
  constructor(
    heads: readonly Head[],
    mlps: readonly string[],
    readonly columns: number,
    readonly folded: boolean,
  ) {
    const sorted = [...heads].sort(compareHeads);
    const used = new Map<string, number>();
    const rowOf = (head: Head) => {
      const key = `${head.layer} ${head.kv}`;
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
    this.mlpRow = end + (end > 0 ? 1 : 0);
    this.units = Math.max(1, mlps.length > 0 ? this.mlpRow + 1 : end);
    for (const { head, row } of rows)
      this.put(head.name, { column: head.layer, row: head.kv ? this.kvTop + row : row });
    for (const name of mlps) this.put(name, { column: mlpLayer(name)!, row: this.mlpRow });
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
    const heads = [...this.places].filter(([name]) => mlpLayer(name) === null);
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
