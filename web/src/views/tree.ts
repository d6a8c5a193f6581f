import { nestFolders, initiallyOpen, type Folder } from "../data/tree";
import type { PackedTree } from "../data/doc";
import { queryTokens } from "../data/inputs";
import type { Run } from "../data/run";
import { wiringStanding } from "../data/significance";
import { drawColorBar, drawLegend, formatNumber, legendHeight } from "../draw/axes";
import { measureText } from "../draw/canvas";
import { viridis } from "../draw/color";
import type { Surface } from "../draw/surface";
import { headTip, type Context, type View } from "../ui/context";
import { button, segmented, select } from "../ui/controls";
import { el, isolated } from "../ui/dom";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { colorOptions, nodeColors, type NodeColors } from "./node_color";

type TreeName = "communities" | "head" | "consensus" | "query" | "key";
const labels: Record<TreeName, string> = {
  communities: "heads, by weights",
  head: "heads, by maps",
  consensus: "heads, by maps of all inputs",
  query: "queries",
  key: "keys",
};

export const tree: View = {
  id: "tree",
  title: "Trees",
  about:
    "Partition trees: nested folders, from coarse to fine. Click a folder to open or close it. Brackets give the number of elements in a closed folder.",
  available: (run) => Object.keys(run.doc.trees ?? {}).length > 0,
  mount(section, context) {
    const view = new TreeFigure(context);
    const figure = new Figure(view, context.store);
    context.figures.push(figure);
    view.attach(figure);
    if (context.run.doc.trees?.communities && wiringStanding(context.run) === "none")
      section.append(
        el(
          "p",
          { class: "count" },
          "The tree of heads by weights is made from affinities that are not beyond chance. A tree is found in any data.",
        ),
      );
    section.append(figure.element);
  },
};

/** A line of the drawing: an open or closed folder, or one element. */
interface Line {
  folder: Folder;
  depth: number;
  x: number;
  y: number;
  children: Line[];
}

const rowHeight = 20;
/** Approximate number of lines visible at start. */
const initialLines = 60;

class TreeFigure implements FigureSpec {
  readonly id = "tree";
  readonly title = "Partition tree";
  private readonly names: TreeName[];
  private name: TreeName;
  private root: Folder;
  private open: Set<string>;
  private top: Line | null = null;
  private rows = 0;
  private cursor = -1;
  private by: string;
  private colors: NodeColors;
  private redraw = () => undefined as void;

  constructor(private readonly context: Context) {
    const trees = context.run.doc.trees!;
    this.names = (["communities", "head", "consensus", "query", "key"] as const).filter((name) => trees[name]);
    this.name = this.names[0]!;
    this.root = nestFolders(this.packed());
    this.open = initiallyOpen(this.root, initialLines);
    this.by = colorOptions(context.run)[0]!.value;
    this.colors = nodeColors(context.run, this.by);
    this.reveal(context.store.state.head);
  }

  attach(figure: Figure): void {
    this.redraw = () => figure.redraw();
    const set = (change: () => void) => {
      change();
      this.redraw();
    };
    const show = (name: string) =>
      set(() => {
        this.name = name as TreeName;
        this.root = nestFolders(this.packed());
        this.open = initiallyOpen(this.root, initialLines);
        this.cursor = -1;
      });
    const color = (by: string) =>
      set(() => {
        this.by = by;
        this.colors = nodeColors(this.context.run, by);
      });
    const options = this.names.map((value) => ({ value, label: labels[value] }));
    if (options.length > 1) figure.controls.append(segmented("Tree of", options, this.name, show));
    figure.controls.append(
      select("Color", colorOptions(this.context.run), this.by, color).element,
      button("Open all", () => set(() => (this.open = initiallyOpen(this.root, Infinity)))),
      button("Close all", () => set(() => (this.open = new Set([this.root.id])))),
    );
    this.context.store.subscribe((state, changed) => changed.has("head") && this.reveal(state.head));
  }

  private packed(): PackedTree {
    return this.context.run.doc.trees![this.name]!;
  }
  private get ofHeads(): boolean {
    return this.name === "communities" || this.name === "head" || this.name === "consensus";
  }
  private elementName(element: number): string {
    const name = elementNames(this.context.run, this.packed(), this.name)[element];
    if (this.ofHeads) return name ?? String(element);
    return name === undefined ? String(element) : `${element} ${isolated(name)}`;
  }

  /** Opens all folders that contain a head. */
  private reveal(head: string | null): void {
    const element = this.ofHeads && head !== null ? (this.packed().names ?? []).indexOf(head) : -1;
    if (element < 0) return;
    let folder: Folder | undefined = this.root;
    while (folder && folder.children.length > 0) {
      this.open.add(folder.id);
      folder = folder.children.find((child) => child.elements.includes(element));
    }
  }

  private layout(width: number): void {
    let deepest = 1;
    this.rows = 0;
    const walk = (folder: Folder, depth: number): Line => {
      deepest = Math.max(deepest, depth);
      const children = this.open.has(folder.id) ? folder.children.map((child) => walk(child, depth + 1)) : [];
      const y = children.length > 0 ? (children[0]!.y + children.at(-1)!.y) / 2 : 8 + (this.rows++ + 0.5) * rowHeight;
      return { folder, depth, x: 0, y, children };
    };
    this.top = walk(this.root, 0);
    // Names need room to the right of the deepest line.
    const step = Math.min(120, Math.max(10, (width - Math.min(360, 0.6 * width)) / deepest));
    for (const line of this.lines()) line.x = 20 + line.depth * step;
  }
  /** Returns all lines, parents before children. */
  private lines(): Line[] {
    const walk = (line: Line): Line[] => [line, ...line.children.flatMap(walk)];
    return this.top ? walk(this.top) : [];
  }

  describe(): string {
    const { n, levels } = this.packed();
    return `Tree of ${labels[this.name]}: ${n} elements, ${levels.length} levels, ${this.rows} lines shown. Up and down move, right opens, left closes, Enter selects.`;
  }
  height(width: number): number {
    this.layout(width);
    const legend = legendHeight(this.colors.legend, width - 20, measureText);
    return 8 + this.rows * rowHeight + (this.ofHeads ? 38 + legend : 16);
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    this.layout(width);
    const lines = this.lines();
    for (const line of lines) {
      for (const child of line.children)
        s.path(`M${line.x},${line.y}H${line.x + 12}V${child.y}H${child.x}`, { stroke: theme.axis, opacity: 0.7 });
    }
    lines.forEach((line, i) => this.drawLine(s, line, i === this.cursor, theme));
    if (!this.ofHeads) return;
    const legend = legendHeight(this.colors.legend, width - 20, measureText);
    drawLegend(s, 8, height - 10 - legend, width - 20, this.colors.legend, theme);
    if (this.colors.ends) {
      const ends: [string, string] = [formatNumber(this.colors.ends[0]), formatNumber(this.colors.ends[1])];
      drawColorBar(s, 14, height - 40, this.by, ends, viridis, theme);
    }
  }

  private holds(folder: Folder, head: string | null): boolean {
    const names = this.packed().names ?? [];
    return head !== null && this.ofHeads && folder.elements.some((element) => names[element] === head);
  }

  private drawLine(s: Surface, { folder, x, y, children }: Line, focused: boolean, theme: Theme): void {
    const { head, hover } = this.context.store.state;
    const marked = children.length === 0 && this.holds(folder, head);
    const weight = marked || (children.length === 0 && this.holds(folder, hover)) ? 650 : 400;
    const ring = marked ? { stroke: theme.mark, width: 2.5 } : {};
    const rim = { stroke: theme.axis, width: 1, ...ring };
    if (folder.elements.length === 1) {
      const name = this.elementName(folder.elements[0]!);
      s.circle(x, y, 5.5, { fill: this.ofHeads ? this.colors.color(name, theme) : theme.axis, ...rim });
      s.text(name, x + 13, y, { baseline: "middle", weight });
      const classes = this.ofHeads ? (this.context.run.head(name)?.classes.join(", ") ?? "") : "";
      s.text(classes, x + 22 + s.measure(name, 12, weight), y, { baseline: "middle", fill: theme.muted, size: 11 });
    } else {
      const closed = children.length === 0;
      if (closed && this.ofHeads) this.drawMix(s, folder, x, y, theme);
      const fill = closed ? (this.ofHeads ? {} : { fill: theme.muted }) : { fill: theme.background };
      s.circle(x, y, closed ? 6.5 : 5, { ...fill, stroke: theme.muted, width: 1.5, ...ring });
      if (children.length === 0) s.text(this.summary(folder), x + 13, y, { baseline: "middle", weight });
    }
    if (focused) s.circle(x, y, 9, { stroke: theme.mark, width: 1.5, dash: [3, 2] });
  }

  /** Fills the circle of a closed folder with the colors of its heads: sectors for classes, the mean of numbers. */
  private drawMix(s: Surface, folder: Folder, x: number, y: number, theme: Theme): void {
    const names = folder.elements.map((element) => this.elementName(element));
    let from = -Math.PI / 2;
    for (const { color, share } of this.colors.mix(names, theme)) {
      const to = from + 2 * Math.PI * share;
      const at = (angle: number) =>
        `${(x + 6.5 * Math.cos(angle)).toFixed(2)},${(y + 6.5 * Math.sin(angle)).toFixed(2)}`;
      if (share > 0.999) s.circle(x, y, 6.5, { fill: color });
      else s.path(`M${x},${y}L${at(from)}A6.5,6.5 0 ${share > 0.5 ? 1 : 0} 1 ${at(to)}Z`, { fill: color });
      from = to;
    }
  }

  /** Returns the first elements of a folder and their number: "L0H1, L0H4, L1H2, L1H7 ... [17]". */
  private summary(folder: Folder): string {
    const shown = folder.elements.slice(0, 4).map((element) => this.elementName(element));
    if (folder.elements.length === 1) return shown[0]!;
    return `${shown.join(", ")}${folder.elements.length > 4 ? " \u2026" : ""} [${folder.elements.length}]`;
  }

  private at(x: number, y: number): Line | null {
    const reach = (line: Line) => (line.children.length > 0 ? 10 : 330);
    return (
      this.lines().find(
        (line) => Math.abs(line.y - y) <= rowHeight / 2 && x >= line.x - 10 && x <= line.x + reach(line),
      ) ?? null
    );
  }
  hit(x: number, y: number): Hit | null {
    const folder = this.at(x, y)?.folder;
    if (!folder) return null;
    if (folder.elements.length > 1) {
      const names = folder.elements.slice(0, 24).map((element) => this.elementName(element));
      return {
        tip: [
          `Folder with ${folder.elements.length} elements`,
          names.join(" ") + (folder.elements.length > 24 ? " \u2026" : ""),
        ],
      };
    }
    const name = this.elementName(folder.elements[0]!);
    return this.ofHeads ? { head: name, tip: headTip(this.context.run, name) } : { tip: [name] };
  }
  private toggle(folder: Folder): void {
    if (!this.open.delete(folder.id)) this.open.add(folder.id);
    this.redraw();
  }
  click(x: number, y: number): void {
    const folder = this.at(x, y)?.folder;
    if (!folder) return;
    if (folder.elements.length > 1) this.toggle(folder);
    else if (this.ofHeads) this.context.store.choose(this.elementName(folder.elements[0]!));
  }
  key(key: string): string | null {
    const lines = this.lines();
    const line = lines[Math.max(0, this.cursor)];
    if (!line || !["ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft", "Enter"].includes(key)) return null;
    const open = line.children.length > 0;
    if (key === "ArrowDown") this.cursor = Math.min(lines.length - 1, this.cursor + 1);
    else if (key === "ArrowUp") this.cursor = Math.max(0, this.cursor - 1);
    else if (line.folder.elements.length > 1) {
      if (key === "Enter" || open === (key === "ArrowLeft")) this.toggle(line.folder);
    } else if (key === "Enter" && this.ofHeads) this.context.store.choose(this.elementName(line.folder.elements[0]!));
    this.redraw();
    return this.summary(lines[Math.max(0, this.cursor)]!.folder);
  }

  data() {
    const { levels, order } = this.packed();
    const names = elementNames(this.context.run, this.packed(), this.name);
    return {
      columns: ["element", "name", ...levels.map((_, level) => `folder_at_level_${level}`)],
      rows: order.map((element, place) => [
        element,
        names[element] ?? "",
        ...levels.map((ends) => ends.findIndex((end) => end > place)),
      ]),
    };
  }
}

/** Returns the names of the elements: those of the tree, or the tokens of the organized input if their number matches. */
export function elementNames(run: Run, packed: PackedTree, name: string): string[] {
  if (packed.names) return packed.names;
  const input = run.mainPart("organize");
  if (!input || (name !== "query" && name !== "key")) return [];
  const tokens = name === "query" ? queryTokens(input) : input.tokens.tokens;
  return tokens.length === packed.n ? tokens.map((token) => token.text) : [];
}
