import type { Block, BlockLayer, Head } from "../data/head";
import { blockName } from "../data/layers";
import type { Run } from "../data/run";
import type { Box } from "../draw/axes";
import type { Surface } from "../draw/surface";
import type { Theme } from "../ui/theme";

/**
 * Positions of heads in a grid of layers (columns) and heads (rows). KV heads are below the query heads. Each block of
 * layers is a group of columns; there is an empty column between groups.
 */
export class HeadGrid {
  readonly rows: number;
  readonly kvRows: number;
  /** Number of columns, including those between groups. */
  readonly columns: number;

  /** First column of each group. */
  private readonly first = new Map<Block, number>();

  /** `shown`: the blocks that have a group. */
  constructor(
    private readonly run: Run,
    private readonly shown: readonly Block[] = run.layers.blocks,
  ) {
    const count = (kv: boolean) =>
      Math.max(0, ...run.heads.filter((head) => head.kv === kv).map((head) => head.index + 1));
    this.rows = count(false);
    this.kvRows = count(true);
    let column = 0;
    for (const block of shown) {
      this.first.set(block, column);
      column += run.layers.countOf(block) + 1;
    }
    this.columns = Math.max(0, column - 1);
  }

  /** Number of rows, including the gap above the KV heads. */
  get units(): number {
    return this.rows + (this.kvRows > 0 ? this.kvRows + 1 : 0);
  }
  /** Returns the column of a layer; NaN if its block is not shown. */
  column({ block, layer }: BlockLayer): number {
    return (this.first.get(block) ?? NaN) + layer;
  }
  /** Returns the query heads that are shown. */
  queryHeads(): Head[] {
    return this.run.heads.filter((head) => !head.kv && this.first.has(head.block));
  }
  /** Returns the center of the cell of a head within a box. */
  center(name: string, box: Box): { x: number; y: number } | null {
    const head = this.run.head(name);
    if (!head || !this.first.has(head.block)) return null;
    const row = head.kv ? this.rows + 1 + head.index : head.index;
    return {
      x: box.left + ((this.column(head) + 0.5) * box.width) / this.columns,
      y: box.top + ((row + 0.5) * box.height) / this.units,
    };
  }
  /** Returns the cell of a query head within a box that shows only query heads. */
  queryCell(head: Head, box: Box): Box {
    const [width, height] = [box.width / this.columns, box.height / this.rows];
    return { left: box.left + this.column(head) * width, top: box.top + head.index * height, width, height };
  }
  /** Returns the head whose cell contains a point. */
  at(x: number, y: number, box: Box): string | null {
    const column = Math.floor(((x - box.left) / box.width) * this.columns);
    const row = Math.floor(((y - box.top) / box.height) * this.units);
    const kv = this.kvRows > 0 && row > this.rows;
    return this.name(column, kv ? row - this.rows - 1 : row, kv);
  }
  /** Like `at`, for a box that shows only query heads. */
  atQueryHead(x: number, y: number, box: Box): string | null {
    const column = Math.floor(((x - box.left) / box.width) * this.columns);
    return this.name(column, Math.floor(((y - box.top) / box.height) * this.rows), false);
  }
  private name(column: number, index: number, kv: boolean): string | null {
    const found = this.run.heads.find((head) => this.column(head) === column && head.index === index && head.kv === kv);
    return found?.name ?? null;
  }

  /** Labels layers and query heads at the sides of a box; with several blocks, each group has its name. */
  drawLabels(s: Surface, box: Box, theme: Theme): void {
    const { layers } = this.run;
    const style = { fill: theme.muted, size: 10 };
    const wide = box.width / this.columns;
    const bottom = box.top + box.height;
    for (const block of this.shown) {
      const count = layers.countOf(block);
      const left = box.left + this.column({ block, layer: 0 }) * wide;
      for (let layer = 0; layer < count; layer += labelStep(wide, 20))
        s.text(String(layer), left + (layer + 0.5) * wide, bottom + 13, { ...style, anchor: "middle" });
      const name = block === "" ? "layer" : fitting(s, blockName(block), block, (count + 1) * wide);
      s.text(name, left + (count * wide) / 2, bottom + 28, { size: 11, anchor: "middle" });
    }
    for (let row = 0; row < this.rows; row += labelStep(box.height / this.rows, 12))
      s.text(String(row), box.left - 6, box.top + ((row + 0.5) * box.height) / this.rows, {
        ...style,
        anchor: "end",
        baseline: "middle",
      });
    s.text("head", box.left - 30, box.top + box.height / 2, { size: 11, anchor: "middle", rotate: -90 });
  }
}

/** Returns a name, or its short form, or only the first letters of this, as there is room. */
function fitting(s: Surface, name: string, short: string, room: number): string {
  return [name, short, short.slice(0, 3)].find((one) => s.measure(one, 11) <= room) ?? short.charAt(0);
}

/** Returns the step between labels, so that they are at least `room` pixels apart. */
export function labelStep(spacing: number, room: number): number {
  for (const step of [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100]) if (step * spacing >= room) return step;
  return Math.ceil(room / spacing);
}
