import type { Edge, Run } from "../data/run";
import { countSentence, wiringCounts } from "../data/significance";
import { maxOf } from "../data/stats";
import { drawColorBar, drawLegend, formatNumber, type Box } from "../draw/axes";
import { inkOn, viridis } from "../draw/color";
import { LayerCache, type Surface } from "../draw/surface";
import { headTip, pairStyles, stepHead, type Context, type PairStyle, type View } from "../ui/context";
import { segmented, select, slider, toggles } from "../ui/controls";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import { tableCard } from "../ui/table_card";
import type { Theme } from "../ui/theme";
import {
  chanceDash,
  chosenIn,
  countLine,
  edgeData,
  edgeStyle,
  edgeTip,
  filterEdges,
  standingLegend,
  strength,
} from "./edges";
import { HeadGrid, labelStep } from "./grid";
import { colorOptions, nodeColors, type NodeColors } from "./node_color";

export const wiring: View = {
  id: "wiring",
  title: "Wiring",
  about:
    "Heads by layer and number. A line connects an earlier head to a later head if the affinity of their subspaces is among the largest. Color: pair of roles. Wide lines stand out: they are beyond chance and unusual among pairs of the same roles and layer distance. Thin gray lines are not beyond chance.",
  available: (run) => run.edges.length > 0,
  mount(section, context) {
    const view = new Wiring(context);
    const figure = new Figure(view, context.store);
    context.figures.push(figure);
    figure.controls.append(...edgeControls(context), ...view.controls(figure));
    section.append(countLine(context.run), figure.element);
    const counts = wiringTable(context.run);
    if (counts) section.append(counts);
  },
};

/** Filters for the edges, here and in the graph. */
export function edgeControls({ run, store }: Context): HTMLElement[] {
  const pairs = [...pairStyles([...new Set(run.edges.map((edge) => edge.pair))])];
  const set = (part: Partial<typeof store.state.filter>) => store.set({ filter: { ...store.state.filter, ...part } });
  const maxRank = Math.max(1, maxOf(run.edges.map((edge) => edge.rank)));
  const { filter } = store.state;
  const controls = [
    toggles(
      "Roles",
      pairs.map(([value, { color, dash }]) => ({ value, label: value, color, dashed: dash !== undefined })),
      filter.pairs,
      (chosen) => set({ pairs: chosen }),
    ),
    slider("Max edges per pair", { min: 1, max: maxRank, value: filter.top }, (top) => set({ top })),
  ];
  if (run.edges.some((edge) => edge.standing !== "unknown"))
    controls.push(
      segmented(
        "Edges",
        [
          { value: "all", label: "all" },
          { value: "beyond", label: "beyond chance" },
          { value: "out", label: "stand out" },
        ],
        filter.shown,
        (shown) => set({ shown: shown as typeof filter.shown }),
      ),
    );
  if (run.nulls.length > 0) {
    const nulls = run.nulls.map((value) => ({ value, label: `z of the ${value} null` }));
    const widths = [...nulls, { value: "", label: "affinity" }];
    controls.push(select("Width", widths, filter.null_, (null_) => set({ null_ })).element);
  }
  return controls;
}

/** Table of the pairs of heads beyond chance per pair of roles. */
function wiringTable(run: Run): HTMLElement | null {
  const counts = wiringCounts(run);
  if (counts.length === 0) return null;
  return tableCard({
    name: "wiring",
    title: "Pairs of heads beyond chance",
    about:
      "Beyond chance: closer than unrelated subspaces are, under both the isotropic and the matched null (q at most 0.05, corrected for the number of pairs). Stands out: also unusual under the span null, that is, among the pairs of the same roles and layer distance.",
    columns: ["roles", "pairs of heads", "beyond chance", "stand out"],
    rows: counts.map(({ pair, pairs, beyond, out }) => [pair, pairs, beyond, out]),
  });
}

class Wiring implements FigureSpec {
  readonly id = "wiring";
  readonly title = "Connections between heads";
  private readonly grid: HeadGrid;
  private readonly pairs: Map<string, PairStyle>;
  private colors: NodeColors;
  private by: string;
  private edges: Edge[] = [];
  private readonly nodes = new LayerCache();
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };

  constructor(private readonly context: Context) {
    this.grid = new HeadGrid(context.run);
    this.pairs = pairStyles([...new Set(context.run.edges.map((edge) => edge.pair))]);
    this.by = colorOptions(context.run)[0]!.value;
    this.colors = nodeColors(context.run, this.by);
  }

  controls(figure: Figure): HTMLElement[] {
    const change = (by: string) => {
      this.by = by;
      this.colors = nodeColors(this.context.run, by);
      figure.redraw();
    };
    return [select("Color", colorOptions(this.context.run), this.by, change).element];
  }

  describe(): string {
    const { filter } = this.context.store.state;
    const edges = filterEdges(this.context.run.edges, filter);
    return `Wiring of heads: ${edges.length} edges of ${filter.pairs.join(", ")}. ${countSentence(this.context.run)} Arrow keys move between heads, Escape clears the selection.`;
  }

  height(width: number): number {
    const row = Math.max(15, Math.min(34, width / 40));
    return Math.round(this.grid.units * row + 96);
  }

  private layout(width: number, height: number): void {
    // Limit the distance between layers. In models with few layers, long lines would be hard to follow.
    const span = Math.min(width - 76, this.grid.columns * 300);
    this.box = { left: 58, top: 12, width: span, height: height - 96 };
  }

  private radius(): number {
    const { columns, units } = this.grid;
    return Math.min(13, (0.4 * this.box.height) / units, (0.36 * this.box.width) / columns);
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const { state } = this.context.store;
    this.layout(width, height);
    this.edges = filterEdges(this.context.run.edges, state.filter);
    this.drawEdges(s, chosenIn(this.edges, state), theme);
    // Cache the heads: 1,000 of them take longer to draw than the edges, and they change less often.
    s.layer(this.nodes, `${theme.name} ${this.by}`, (layer) => {
      this.drawLabels(layer, theme);
      this.drawNodes(layer, theme);
    });
    this.drawMarks(s, theme);
    this.drawKey(s, width, height, theme);
  }

  private drawLabels(s: Surface, theme: Theme): void {
    const { box, grid } = this;
    const columnStep = labelStep(box.width / grid.columns, 26);
    for (let layer = 0; layer < grid.columns; layer += columnStep) {
      const x = box.left + ((layer + 0.5) * box.width) / grid.columns;
      s.text(String(layer), x, box.top + box.height + 14, { anchor: "middle", fill: theme.muted });
    }
    s.text("layer", box.left + box.width / 2, box.top + box.height + 32, { anchor: "middle", fill: theme.ink });
    const rowStep = labelStep(box.height / grid.units, 15);
    for (let row = 0; row < grid.rows + grid.kvRows; ++row) {
      const kv = row >= grid.rows;
      const number = kv ? row - grid.rows : row;
      if (number % rowStep !== 0) continue;
      const y = box.top + ((row + (kv ? 1 : 0) + 0.5) * box.height) / grid.units;
      s.text(`${kv ? "kv " : ""}${number}`, box.left - 10, y, { anchor: "end", baseline: "middle", fill: theme.muted });
    }
    s.text("head", 12, box.top + (grid.rows * box.height) / grid.units / 2, {
      anchor: "middle",
      rotate: -90,
      fill: theme.ink,
    });
  }

  /** Returns the start point, the control points and the end point of a line. */
  private curve(edge: Edge): [number, number, number, number, number, number] | null {
    const from = this.grid.center(edge.source, this.box);
    const to = this.grid.center(edge.target, this.box);
    if (!from || !to) return null;
    const r = this.radius();
    const x1 = from.x + r;
    const x2 = to.x - r;
    return [x1, from.y, (x1 + x2) / 2, (x1 + x2) / 2, x2, to.y];
  }

  private drawEdges(s: Surface, chosen: string | null, theme: Theme): void {
    const { filter } = this.context.store.state;
    const dash = chanceDash(this.edges);
    const strongest = Math.max(0, maxOf(this.edges.map((edge) => strength(edge, filter))));
    for (const pass of [false, true]) {
      for (const edge of this.edges) {
        const touched = chosen === null || edge.source === chosen || edge.target === chosen;
        const curve = touched === pass ? this.curve(edge) : null;
        if (!curve) continue;
        const [x1, y1, c1, c2, x2, y2] = curve;
        s.path(
          `M${x1.toFixed(1)},${y1.toFixed(1)}C${c1.toFixed(1)},${y1.toFixed(1)} ${c2.toFixed(1)},${y2.toFixed(1)} ${x2.toFixed(1)},${y2.toFixed(1)}`,
          edgeStyle(edge, this.pairs.get(edge.pair)!, strength(edge, filter) / (strongest || 1), touched, theme, dash),
        );
      }
    }
  }

  private drawNodes(s: Surface, theme: Theme): void {
    const { run } = this.context;
    const r = this.radius();
    for (const head of run.heads) {
      const center = this.grid.center(head.name, this.box);
      if (!center) continue;
      const fill = this.colors.color(head.name, theme);
      const rim = r >= 5 ? { stroke: theme.axis, width: 1 } : {};
      s.rect(center.x - r, center.y - r, 2 * r, 2 * r, { fill, radius: Math.min(4, r / 2.5), ...rim });
      if (r >= 8.5)
        s.text(String(head.index), center.x, center.y + 0.5, {
          anchor: "middle",
          baseline: "middle",
          size: 10,
          fill: fill === theme.blank ? theme.muted : inkOn(fill),
        });
    }
  }

  /** Frames the chosen head and the head under the pointer. */
  private drawMarks(s: Surface, theme: Theme): void {
    const { head, hover } = this.context.store.state;
    const r = this.radius();
    for (const name of [hover, head]) {
      const center = name === null ? null : this.grid.center(name, this.box);
      if (!center) continue;
      const style = { stroke: theme.mark, width: name === head ? 2.5 : 1.5, radius: Math.min(5, r / 2 + 1) };
      s.rect(center.x - r - 2.5, center.y - r - 2.5, 2 * r + 5, 2 * r + 5, style);
    }
  }

  private drawKey(s: Surface, width: number, height: number, theme: Theme): void {
    const { filter } = this.context.store.state;
    const pairs = filter.pairs.map((pair) => ({ ...this.pairs.get(pair)!, label: pair, line: true }));
    const room = width - 20;
    const used = drawLegend(
      s,
      8,
      height - 40,
      this.colors.ends ? room - 180 : room,
      [...standingLegend(this.edges, theme), ...pairs, ...this.colors.legend],
      theme,
    );
    if (used > 40) return;
    if (this.colors.ends) {
      const [low, high] = this.colors.ends;
      drawColorBar(s, width - 164, height - 42, this.by, [formatNumber(low), formatNumber(high)], viridis, theme);
    }
  }

  hit(x: number, y: number): Hit | null {
    const name = this.grid.at(x, y, this.box);
    const center = name ? this.grid.center(name, this.box) : null;
    const r = this.radius() + 3;
    if (name && center && Math.abs(center.x - x) <= r && Math.abs(center.y - y) <= r)
      return { head: name, tip: headTip(this.context.run, name) };
    let best: Edge | null = null;
    let nearest = 6;
    for (const edge of this.edges) {
      const distance = this.distanceTo(edge, x, y);
      if (distance > nearest) continue;
      nearest = distance;
      best = edge;
    }
    return best ? { tip: edgeTip(best, this.context.run) } : null;
  }

  private distanceTo(edge: Edge, x: number, y: number): number {
    const curve = this.curve(edge);
    if (!curve) return Infinity;
    const [x1, y1, c1, c2, x2, y2] = curve;
    if (x < Math.min(x1, x2) - 6 || x > Math.max(x1, x2) + 6 || y < Math.min(y1, y2) - 6 || y > Math.max(y1, y2) + 6)
      return Infinity;
    let minDistance = Infinity;
    const steps = 32;
    for (let i = 0; i <= steps; ++i) {
      const t = i / steps;
      const a = (1 - t) ** 3;
      const b = 3 * t * (1 - t) ** 2;
      const c = 3 * t ** 2 * (1 - t);
      const d = t ** 3;
      minDistance = Math.min(
        minDistance,
        Math.hypot(a * x1 + b * c1 + c * c2 + d * x2 - x, (a + b) * y1 + (c + d) * y2 - y),
      );
    }
    return minDistance;
  }

  key(key: string): string | null {
    const { run, store } = this.context;
    if (key === "Escape") {
      store.set({ head: null });
      return "No head selected";
    }
    const next = stepHead(run, store.state.head, key);
    if (next === null) return null;
    store.set({ head: next });
    const edges = this.edges.filter((edge) => edge.source === next || edge.target === next);
    return `${next}, ${edges.length} edges`;
  }

  data() {
    return edgeData(filterEdges(this.context.run.edges, this.context.store.state.filter), this.context.run);
  }
}
