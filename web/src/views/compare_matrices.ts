import type { NumberArray } from "../data/array";
import type { ComparedAxis, Comparison, PackedTree } from "../data/doc";
import { parseHead } from "../data/head";
import { nestFolders, type Folder } from "../data/tree";
import { drawColorBar, formatNumber, type Box } from "../draw/axes";
import { lookup, viridis } from "../draw/color";
import { colorCells, minMax, orderedMatrix, range } from "../draw/heatmap";
import type { Cells, Surface } from "../draw/surface";
import type { Context } from "../ui/context";
import { segmented } from "../ui/controls";
import { isolated } from "../ui/dom";
import type { Figure, FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { truncateStart } from "./labels";

type AxisName = ComparedAxis["axis"];
const treeHeight = 84;
const below = 66;

/** Trees and affinity matrices of the runs side by side, in the order of the trees. */
export class CompareMatrices implements FigureSpec {
  readonly id = "compared-matrices";
  readonly title = "Trees and affinities";
  readonly caption =
    "First input of each run. Top: the tree, root first, with gaps between folders. Bottom: affinities in the order of the leaves; the diagonal is blank. All runs share one color scale.";
  private axis: AxisName;
  private shown: { axis: ComparedAxis; array: NumberArray; cells: Cells; blocks: Block[] }[] = [];
  private boxes: Box[] = [];
  private ends: [number, number] = [0, 1];
  private readonly colors = lookup(viridis);

  constructor(
    private readonly context: Context,
    private readonly comparison: Comparison,
  ) {
    this.axis = this.axes()[0]!;
  }

  private axes(): AxisName[] {
    return (["head", "query", "key"] as const).filter((name) => this.comparison.axes.some((one) => one.axis === name));
  }
  async attach(figure: Figure): Promise<void> {
    const words = { head: "heads", query: "queries", key: "keys" };
    const options = this.axes().map((value) => ({ value, label: words[value] }));
    figure.controls.append(
      segmented("Axis", options, this.axis, (value) => {
        this.axis = value as AxisName;
        void this.load().then(() => figure.redraw());
      }),
    );
    await this.load();
    figure.redraw();
  }
  private async load(): Promise<void> {
    const axes = this.comparison.axes.filter((one) => one.axis === this.axis);
    const arrays = await Promise.all(axes.map((one) => this.context.run.array(one.array)));
    const value = (array: NumberArray) => {
      const inner = orderedMatrix(array, range(array.shape[0]!), range(array.shape[0]!));
      return (row: number, column: number) => (row === column ? NaN : inner(row, column));
    };
    const ends = arrays.map((array) => minMax(array.shape[0]!, array.shape[0]!, value(array)));
    this.ends = [Math.min(...ends.map((one) => one[0])), Math.max(...ends.map((one) => one[1]))];
    this.shown = axes.map((axis, i) => {
      const array = arrays[i]!;
      const n = array.shape[0]!;
      return {
        axis,
        array,
        cells: colorCells(n, n, value(array), this.ends, this.colors),
        blocks: blocksOf(axis.tree),
      };
    });
  }

  describe(): string {
    const sizes = this.shown.map(
      ({ axis }) => `${this.name(axis)}: ${axis.tree.n} elements in ${axis.tree.levels.length} levels`,
    );
    return `Trees and affinities by ${this.axis}: ${sizes.join(", ")}. Arrow keys select a head.`;
  }
  private name(axis: ComparedAxis): string {
    return this.comparison.runs[axis.run]!.name;
  }
  /** Returns the name of the element at a position in the order of the leaves. */
  private element(axis: ComparedAxis, place: number): string {
    const at = axis.tree.order[place]!;
    return axis.tree.names?.[at] ?? String(at);
  }
  private perRow(width: number): number {
    const count = Math.max(1, this.comparison.axes.filter((one) => one.axis === this.axis).length);
    return Math.max(1, Math.min(count, 4, Math.floor(width / 240)));
  }
  private side(width: number): number {
    return Math.min(420, width / this.perRow(width) - 34);
  }
  height(width: number): number {
    const count = this.comparison.axes.filter((one) => one.axis === this.axis).length;
    return Math.ceil(count / this.perRow(width)) * (this.side(width) + treeHeight + below) + 14;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const across = this.perRow(width);
    const side = this.side(width);
    this.boxes = this.shown.map((_, i) => ({
      left: 8 + (i % across) * (width / across),
      top: 30 + treeHeight + Math.floor(i / across) * (side + treeHeight + below),
      width: side,
      height: side,
    }));
    this.shown.forEach(({ axis, cells, blocks }, i) => {
      const box = this.boxes[i]!;
      s.text(`${axis.run}  ${truncateStart(this.name(axis), 40)}`, box.left, box.top - treeHeight - 12, {
        weight: 600,
      });
      drawTree(s, axis.tree, blocks, { ...box, top: box.top - treeHeight - 4, height: treeHeight }, theme);
      s.cells(cells, box.left, box.top, box.width, box.height);
      s.rect(box.left, box.top, box.width, box.height, { stroke: theme.axis });
      this.drawChosen(s, axis, box);
    });
    const ends: [string, string] = [formatNumber(this.ends[0]), formatNumber(this.ends[1])];
    drawColorBar(s, 8, height - 42, "affinity", ends, viridis, theme);
  }

  /** Frames the row and column of the chosen head. A white frame on a black one is visible on every color. */
  private drawChosen(s: Surface, axis: ComparedAxis, box: Box): void {
    const { head, hover } = this.context.store.state;
    if (axis.axis !== "head") return;
    const { n } = axis.tree;
    const place = axis.tree.order.findIndex((at) => axis.tree.names?.[at] === (head ?? hover));
    if (place < 0) return;
    const from = (place / n) * box.width;
    const wide = box.width / n;
    for (const paint of [
      { stroke: "#000000", width: 3 },
      { stroke: "#ffffff", width: 1.25 },
    ]) {
      s.rect(box.left, box.top + from, box.width, wide, paint);
      s.rect(box.left + from, box.top - treeHeight - 4, wide, box.height + treeHeight + 4, paint);
    }
  }

  hit(x: number, y: number): Hit | null {
    const i = this.boxes.findIndex(
      (box) => x >= box.left && x < box.left + box.width && y >= box.top - treeHeight - 4 && y < box.top + box.height,
    );
    const one = this.shown[i];
    const box = this.boxes[i];
    if (!one || !box) return null;
    const { n } = one.axis.tree;
    const column = Math.floor(((x - box.left) / box.width) * n);
    const row = y < box.top ? column : Math.floor(((y - box.top) / box.height) * n);
    const [from, to] = [this.element(one.axis, row), this.element(one.axis, column)];
    const length = one.array.shape[0]!;
    const cell = (place: number) => Math.floor(place / one.axis.side);
    const value = one.array.at(cell(row) * length + cell(column));
    const label = row === column ? isolated(from) : `${isolated(from)} \u2013 ${isolated(to)}`;
    const tip = [`${this.name(one.axis)}: ${label}`];
    const lines = row === column ? tip : [...tip, { label: "affinity", value: formatNumber(value) }];
    return one.axis.axis === "head" && parseHead(from) ? { head: from, tip: lines } : { tip: lines };
  }
  key(key: string): string | null {
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    const axis = this.shown[0]?.axis;
    if (step === 0 || axis?.axis !== "head") return null;
    const names = range(axis.tree.n).map((place) => this.element(axis, place));
    const at = names.indexOf(this.context.store.state.head ?? "");
    const next = names[at < 0 ? 0 : (at + step + names.length) % names.length]!;
    if (!parseHead(next)) return null;
    this.context.store.set({ head: next });
    return next;
  }
  data() {
    return {
      columns: ["run", "row", "column", "affinity"],
      rows: this.shown.flatMap(({ axis, array }) => {
        const length = array.shape[0]!;
        const names = range(length).map((cell) => this.element(axis, cell * axis.side));
        return range(length).flatMap((row) =>
          range(length).map((column) => [
            this.name(axis),
            names[row]!,
            names[column]!,
            Number(array.at(row * length + column).toPrecision(4)),
          ]),
        );
      }),
    };
  }
}

/** Draws one row per level. A folder that is not split spans several rows. */
function drawTree(s: Surface, { levels, n }: PackedTree, blocks: readonly Block[], box: Box, theme: Theme): void {
  const step = box.height / levels.length;
  for (const { level, last, begin, end } of blocks) {
    const x = box.left + (begin / n) * box.width;
    const wide = ((end - begin) / n) * box.width;
    const gap = wide > 3 ? 0.75 : 0;
    s.rect(x + gap, box.top + level * step + 0.75, wide - 2 * gap, (last - level + 1) * step - 1.5, {
      fill: theme.name === "dark" ? "#6cb2f5" : "#0a5fb4",
      opacity: 0.22 + (0.6 * level) / Math.max(1, levels.length - 1),
    });
  }
}

/** A folder as a rectangle over its leaves, from its level to the last level at which it is not split. */
interface Block {
  level: number;
  last: number;
  begin: number;
  end: number;
}

/** Returns all folders of a tree, parents first. */
function blocksOf(tree: PackedTree): Block[] {
  const blocks: Block[] = [];
  const add = (folder: Folder, begin: number) => {
    const last = (folder.children[0]?.level ?? tree.levels.length) - 1;
    blocks.push({ level: folder.level, last, begin, end: begin + folder.elements.length });
    let from = begin;
    for (const child of folder.children) {
      add(child, from);
      from += child.elements.length;
    }
  };
  add(nestFolders(tree), 0);
  return blocks;
}
