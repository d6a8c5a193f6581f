import type { Run } from "../data/run";
import type { Box } from "../draw/axes";

/** Positions of heads in a grid of layers (columns) and heads (rows). KV heads are below the query heads. */
export class HeadGrid {
  readonly rows: number;
  readonly kvRows: number;

  constructor(private readonly run: Run) {
    const count = (kv: boolean) =>
      Math.max(0, ...run.heads.filter((head) => head.kv === kv).map((head) => head.index + 1));
    this.rows = count(false);
    this.kvRows = count(true);
  }

  get columns(): number {
    return this.run.layers;
  }
  /** Number of rows, including the gap above the KV heads. */
  get units(): number {
    return this.rows + (this.kvRows > 0 ? this.kvRows + 1 : 0);
  }
  /** Returns the center of the cell of a head within a box. */
  center(name: string, box: Box): { x: number; y: number } | null {
    const head = this.run.head(name);
    if (!head) return null;
    const row = head.kv ? this.rows + 1 + head.index : head.index;
    return {
      x: box.left + ((head.layer + 0.5) * box.width) / this.columns,
      y: box.top + ((row + 0.5) * box.height) / this.units,
    };
  }
  /** Returns the head whose cell contains a point. */
  at(x: number, y: number, box: Box): string | null {
    const layer = Math.floor(((x - box.left) / box.width) * this.columns);
    const row = Math.floor(((y - box.top) / box.height) * this.units);
    const kv = this.kvRows > 0 && row > this.rows;
    return this.name(layer, kv ? row - this.rows - 1 : row, kv);
  }
  /** Like `at`, for a box that shows only query heads. */
  atQueryHead(x: number, y: number, box: Box): string | null {
    const layer = Math.floor(((x - box.left) / box.width) * this.columns);
    return this.name(layer, Math.floor(((y - box.top) / box.height) * this.rows), false);
  }
  private name(layer: number, index: number, kv: boolean): string | null {
    return this.run.heads.find((head) => head.layer === layer && head.index === index && head.kv === kv)?.name ?? null;
  }
}

/** Returns the step between labels, so that they are at least `room` pixels apart. */
export function labelStep(spacing: number, room: number): number {
  for (const step of [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100]) if (step * spacing >= room) return step;
  return Math.ceil(room / spacing);
}
