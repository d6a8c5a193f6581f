import {
  forceCenter,
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type Simulation,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from "d3-force";
import { isEdge } from "../data/edge_key";
import type { Edge, Run } from "../data/run";
import { formatP } from "../data/significance";
import { drawColorBar, drawLegend, formatNumber, legendHeight, type LegendEntry } from "../draw/axes";
import { measureText } from "../draw/canvas";
import { viridis } from "../draw/color";
import type { Surface } from "../draw/surface";
import { headTip, pairStyles, type Context, type PairStyle, type View } from "../ui/context";
import { select } from "../ui/controls";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import { tableCard } from "../ui/table_card";
import type { EdgeFilter } from "../ui/store";
import type { Theme } from "../ui/theme";
import { edgeWidth, strength } from "./edge_width";
import {
  chanceDash,
  chosenIn,
  countLine,
  wantedHeads,
  edgeData,
  edgeLegend,
  edgeStyle,
  edgeTip,
  filterEdges,
  filterNote,
  pairName,
} from "./edges";
import { colorOptions, nodeColors, type NodeColors } from "./node_color";

interface Node extends SimulationNodeDatum {
  name: string;
  radius: number;
  strength: number;
}
interface Link extends SimulationLinkDatum<Node> {
  edge: Edge;
}

export const graph: View = {
  id: "graph",
  title: "Head graph",
  about:
    "The same edges as in the wiring, with the same filters, as a force-directed graph: connected heads are close together. Large and named: heads whose sum of z over all their edges is significant (hubs). Drag heads to move them.",
  available: (run) => run.edges.length > 0,
  mount(section, context) {
    const view = new Graph(context);
    const figure = new Figure(view, context.store);
    context.figures.push(figure);
    view.attach(figure);
    section.append(countLine(context.run), figure.element);
    const hubs = hubTable(context.run);
    if (hubs) section.append(hubs);
  },
};

/** Heads by the sum of z over their edges; those that are no significant hubs are faint. */
function hubTable(run: Run): HTMLElement | null {
  const hubs = run.hubs.filter((hub) => hub.strength > 0);
  if (hubs.length === 0) return null;
  const found = hubs.filter((hub) => hub.significant === "yes");
  const shown = [...found, ...hubs.filter((hub) => hub.significant !== "yes")].slice(0, Math.max(10, found.length));
  const unknown = hubs.every((hub) => hub.significant === "unknown");
  const count = found.length === 1 ? "1 head is a significant hub" : `${found.length} heads are significant hubs`;
  return tableCard({
    name: "hubs",
    title: unknown ? "Heads by sum of z, significance unknown" : found.length > 0 ? "Hubs" : "No significant hubs",
    about: unknown
      ? "This run does not say which of these sums are larger than expected by chance."
      : `${count} out of ${run.hubs.length}. p is family-wise: the probability that any head reaches such a sum if links met random heads of the same layers.`,
    columns: ["head", "sum of z", "p", "significant", "edges"],
    rows: shown.map((hub) => [hub.head, hub.strength, formatP(hub.p), hub.significant, hub.reason]),
    faint: shown.map((hub) => hub.significant === "no"),
  });
}

/** Number of steps after which the simulation stops. */
const restAfter = 260;

/** Returns the path of an arrow head that points from (fromX, fromY) to a circle around (x, y). */
function arrow(fromX: number, fromY: number, x: number, y: number, radius: number): string {
  const length = Math.hypot(x - fromX, y - fromY) || 1;
  const [ux, uy] = [(x - fromX) / length, (y - fromY) / length];
  const [tx, ty] = [x - ux * radius, y - uy * radius];
  const corner = (side: number) =>
    `${(tx - 8 * ux - side * 3.5 * uy).toFixed(1)},${(ty - 8 * uy + side * 3.5 * ux).toFixed(1)}`;
  return `M${tx.toFixed(1)},${ty.toFixed(1)}L${corner(1)}L${corner(-1)}Z`;
}

class Graph implements FigureSpec {
  readonly id = "graph";
  readonly title = "Hubs and neighborhoods";
  private nodes: Node[] = [];
  private links: Link[] = [];
  private simulation: Simulation<Node, Link> | null = null;
  private steps = 0;
  private waiting = false;
  private filter: EdgeFilter | null = null;
  private shown = "";
  private dragged: Node | null = null;
  private colors: NodeColors;
  private by: string;
  private scale = { k: 1, x: 0, y: 0 };
  private readonly pairs: Map<string, PairStyle>;
  private figure: Figure | null = null;

  constructor(private readonly context: Context) {
    this.pairs = pairStyles([...new Set(context.run.edges.map((edge) => edge.pair))]);
    this.by = colorOptions(context.run)[0]!.value;
    this.colors = nodeColors(context.run, this.by);
  }

  attach(figure: Figure): void {
    this.figure = figure;
    const change = (by: string) => {
      this.by = by;
      this.colors = nodeColors(this.context.run, by);
      figure.redraw();
    };
    figure.controls.append(select("Color", colorOptions(this.context.run), this.by, change).element);
  }

  /** Rebuilds nodes and links for the current filter. Heads that remain keep their positions. */
  private rebuild(): void {
    const { run, store } = this.context;
    const { filter } = store.state;
    if (filter === this.filter) return;
    this.filter = filter;
    const edges = filterEdges(run, run.edges, filter, wantedHeads(run, filter));
    const signature = edges.map((edge) => `${edge.pair}${edge.source}${edge.target}`).join();
    if (signature === this.shown) return;
    this.shown = signature;
    const before = new Map(this.nodes.map((node) => [node.name, node]));
    // Only significant hubs are large. Without significance, no head is.
    const hubs = new Map(run.hubs.filter((hub) => hub.significant === "yes").map((hub) => [hub.head, hub.strength]));
    const names = [...new Set(edges.flatMap((edge) => [edge.source, edge.target]))].sort();
    const maxStrength = Math.max(1e-9, ...names.map((name) => hubs.get(name) ?? 0));
    this.nodes = names.map((name) => {
      const value = Math.max(0, hubs.get(name) ?? 0);
      const old = before.get(name);
      const place = old ? { x: old.x!, y: old.y! } : {};
      return { ...place, name, strength: value, radius: 5 + 13 * Math.sqrt(value / maxStrength) };
    });
    const byName = new Map(this.nodes.map((node) => [node.name, node]));
    this.links = edges.map((edge) => ({ edge, source: byName.get(edge.source)!, target: byName.get(edge.target)! }));
    this.simulation?.stop();
    this.simulation = forceSimulation(this.nodes)
      .force("link", forceLink<Node, Link>(this.links).distance(58).strength(0.25))
      .force("charge", forceManyBody<Node>().strength(-150).distanceMax(420))
      .force(
        "collide",
        forceCollide<Node>((node) => node.radius + 7),
      )
      .force("x", forceX<Node>(0).strength(0.045))
      .force("y", forceY<Node>(0).strength(0.085))
      .force("center", forceCenter(0, 0))
      .stop();
    this.steps = 0;
  }

  private finish(): void {
    for (; this.steps < restAfter; ++this.steps) this.simulation?.tick();
  }

  /** Runs the simulation for 6 ms per frame until it stops. */
  private run(): void {
    if (!this.simulation || this.steps >= restAfter || this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const begin = performance.now();
      while (performance.now() - begin < 6 && this.steps < restAfter) {
        this.simulation?.tick();
        ++this.steps;
      }
      this.figure?.redraw();
    });
  }

  describe(): string {
    this.rebuild();
    const hubs = this.nodes.filter((node) => node.strength > 0).sort((a, b) => b.strength - a.strength);
    const named = hubs.slice(0, 3).map((node) => node.name);
    const text = named.length > 0 ? `Significant hubs: ${named.join(", ")}.` : "No significant hubs.";
    return `Graph of ${this.nodes.length} heads and ${this.links.length} edges. ${text}`;
  }

  note(): string {
    return filterNote(this.context.run, this.context.store.state.filter);
  }

  private legend(theme: Theme): LegendEntry[] {
    const { filter } = this.context.store.state;
    const lines = filter.pairs.map((pair) => ({ ...this.pairs.get(pair)!, label: pairName(pair), line: true }));
    const edges = this.links.map((link) => link.edge);
    return edgeLegend(edges, filter, lines, this.colors.legend, theme);
  }
  private legendWidth(width: number): number {
    return this.colors.ends && width > 560 ? width - 190 : width - 16;
  }
  /** Height of legend and color bar. */
  private below(width: number): number {
    const rows = legendHeight(this.legend(this.context.store.state.theme), this.legendWidth(width), measureText);
    return 16 + (this.colors.ends ? (width > 560 ? Math.max(42, rows) : rows + 46) : rows);
  }

  height(width: number): number {
    this.rebuild();
    return Math.round(Math.min(640, Math.max(340, width * 0.45))) + this.below(width);
  }

  /** Centers the graph and scales it to fit, by a factor of at most 2.4. */
  private fit(width: number, height: number): void {
    const reach = (pick: (node: Node) => number) => [
      Math.min(0, ...this.nodes.map((node) => pick(node) - node.radius - 16)),
      Math.max(0, ...this.nodes.map((node) => pick(node) + node.radius + 16)),
    ];
    const [left, right] = reach((node) => node.x ?? 0) as [number, number];
    const [top, bottom] = reach((node) => node.y ?? 0) as [number, number];
    const high = height - this.below(width);
    const k = Math.min(2.4, (width - 20) / Math.max(1, right - left), (high - 20) / Math.max(1, bottom - top));
    this.scale = { k, x: width / 2 - (k * (left + right)) / 2, y: high / 2 - (k * (top + bottom)) / 2 };
  }
  private at(node: Node): { x: number; y: number } {
    return { x: this.scale.x + this.scale.k * (node.x ?? 0), y: this.scale.y + this.scale.k * (node.y ?? 0) };
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const { store } = this.context;
    this.rebuild();
    // The simulation runs while the figure is in view. A file shows its end.
    if (s.screen) this.run();
    else this.finish();
    if (!this.dragged) this.fit(width, height);
    if (this.nodes.length === 0) {
      s.text("No edge passes the filter.", width / 2, height / 2, { anchor: "middle", fill: theme.muted });
      return;
    }
    this.drawLinks(
      s,
      chosenIn(
        this.links.map((link) => link.edge),
        store.state,
      ),
      theme,
    );
    this.drawNodes(s, theme);
    drawLegend(s, 8, height - this.below(width) + 8, this.legendWidth(width), this.legend(theme), theme);
    if (this.colors.ends)
      drawColorBar(
        s,
        width > 560 ? width - 164 : 8,
        height - 42,
        this.by,
        [formatNumber(this.colors.ends[0]), formatNumber(this.colors.ends[1])],
        viridis,
        theme,
      );
  }

  private drawLinks(s: Surface, chosen: string | null, theme: Theme): void {
    const { filter } = this.context.store.state;
    const dash = chanceDash(this.links.map((link) => link.edge));
    for (const link of this.links) {
      const { edge, target } = link;
      const touched = chosen === null || edge.source === chosen || edge.target === chosen;
      const pair = this.pairs.get(edge.pair)!;
      const style = edgeStyle(edge, pair, edgeWidth(strength(edge, filter), filter.null_), touched, theme, dash);
      const { a, b, middle } = this.curve(link);
      const path = `M${a.x.toFixed(1)},${a.y.toFixed(1)}Q${middle.x.toFixed(1)},${middle.y.toFixed(1)} ${b.x.toFixed(1)},${b.y.toFixed(1)}`;
      if (isEdge(edge, this.context.store.state.edge)) {
        s.path(path, { stroke: theme.mark, width: style.width + 4, opacity: 0.85 });
        s.path(path, { stroke: theme.background, width: style.width + 2 });
      }
      s.path(path, style);
      s.path(arrow(middle.x, middle.y, b.x, b.y, (target as Node).radius + 1), {
        fill: style.stroke,
        opacity: style.opacity,
      });
    }
  }

  /** Returns the ends of a link and the control point between them. */
  private curve({ edge, source, target }: Link) {
    const a = this.at(source as Node);
    const b = this.at(target as Node);
    // Bend edges by pair of roles, so that several edges between two heads do not overlap.
    const bend = 0.1 + 0.08 * [...this.pairs.keys()].indexOf(edge.pair);
    const middle = { x: (a.x + b.x) / 2 - (b.y - a.y) * bend, y: (a.y + b.y) / 2 + (b.x - a.x) * bend };
    return { a, b, middle };
  }

  /** Returns the link within 5 pixels of a point. */
  private linkAt(x: number, y: number): Link | null {
    let best: Link | null = null;
    let nearest = 5;
    for (const link of this.links) {
      const { a, b, middle } = this.curve(link);
      const xs = [a.x, b.x, middle.x];
      const ys = [a.y, b.y, middle.y];
      if (x < Math.min(...xs) - 5 || x > Math.max(...xs) + 5 || y < Math.min(...ys) - 5 || y > Math.max(...ys) + 5)
        continue;
      for (let i = 0; i <= 24; ++i) {
        const t = i / 24;
        const at = (p: number, q: number, r: number) => (1 - t) ** 2 * p + 2 * t * (1 - t) * q + t ** 2 * r;
        const distance = Math.hypot(at(a.x, middle.x, b.x) - x, at(a.y, middle.y, b.y) - y);
        if (distance > nearest) continue;
        nearest = distance;
        best = link;
      }
    }
    return best;
  }

  private drawNodes(s: Surface, theme: Theme): void {
    const { state } = this.context.store;
    const named = this.namedHeads();
    for (const node of this.nodes) {
      const { x, y } = this.at(node);
      const marked = node.name === state.head || node.name === state.hover;
      s.circle(x, y, node.radius, {
        fill: this.colors.color(node.name, theme),
        stroke: marked ? theme.mark : theme.axis,
        width: marked ? 2.5 : 1,
      });
    }
    for (const node of this.nodes) {
      const marked = node.name === state.head || node.name === state.hover;
      if (!marked && !named.has(node.name)) continue;
      const { x, y } = this.at(node);
      const size = marked ? 13 : 11;
      const width = s.measure(node.name, size, marked ? 600 : 400);
      s.rect(x - width / 2 - 2, y + node.radius + 2, width + 4, size + 2, {
        fill: theme.background,
        opacity: 0.75,
        radius: 2,
      });
      s.text(node.name, x, y + node.radius + 2 + size, {
        anchor: "middle",
        size,
        weight: marked ? 600 : 400,
        fill: theme.ink,
      });
    }
  }

  /** Returns the heads with a name: significant hubs and the ends of edges that stand out, 24 at most. */
  private namedHeads(): Set<string> {
    const hubs = this.nodes.filter((node) => node.strength > 0).sort((a, b) => b.strength - a.strength);
    const ends = [...this.links]
      .reverse()
      .filter(({ edge }) => edge.standing === "out")
      .flatMap(({ edge }) => [edge.source, edge.target]);
    return new Set([...new Set([...hubs.map((node) => node.name), ...ends])].slice(0, 24));
  }

  private nearest(x: number, y: number): Node | null {
    let best: Node | null = null;
    let minDistance = 1;
    for (const node of this.nodes) {
      const at = this.at(node);
      const distance = Math.hypot(at.x - x, at.y - y) / (node.radius + 4);
      if (distance > minDistance) continue;
      minDistance = distance;
      best = node;
    }
    return best;
  }

  hit(x: number, y: number): Hit | null {
    const node = this.nearest(x, y);
    if (node) return { head: node.name, tip: headTip(this.context.run, node.name) };
    const edge = this.linkAt(x, y)?.edge;
    if (!edge) return null;
    const { pair, source, target } = edge;
    return { edge: { pair, source, target }, tip: edgeTip(edge, this.context.run) };
  }

  drag(x: number, y: number, start: boolean): boolean {
    if (start) this.dragged = this.nearest(x, y);
    const node = this.dragged;
    if (!node) return false;
    if (start) return true;
    node.fx = (x - this.scale.x) / this.scale.k;
    node.fy = (y - this.scale.y) / this.scale.k;
    this.simulation?.alpha(0.25);
    this.steps = Math.min(this.steps, restAfter - 60);
    this.run();
    return true;
  }
  dragEnd(): void {
    if (this.dragged) {
      delete this.dragged.fx;
      delete this.dragged.fy;
    }
    this.dragged = null;
  }

  key(key: string): string | null {
    const order = [...this.nodes].sort((a, b) => b.strength - a.strength).map((node) => node.name);
    const step = ["ArrowDown", "ArrowRight"].includes(key) ? 1 : ["ArrowUp", "ArrowLeft"].includes(key) ? -1 : 0;
    if (step === 0 || order.length === 0) return null;
    const at = order.indexOf(this.context.store.state.head ?? "");
    const next = order[at < 0 ? 0 : (at + step + order.length) % order.length]!;
    this.context.store.set({ head: next });
    const hub = this.nodes.find((node) => node.name === next)!.strength > 0;
    return `${next}, ${order.indexOf(next) + 1} of ${order.length}${hub ? ", a significant hub" : ""}`;
  }

  data() {
    this.rebuild();
    return edgeData(
      this.links.map((link) => link.edge),
      this.context.run,
    );
  }
}
