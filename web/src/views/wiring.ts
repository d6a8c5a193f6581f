import { componentEdges, componentNames, componentTitle, otherNames, parseComponent } from "../data/components";
import { isEdge, type EdgeKey } from "../data/edge_key";
import type { Edge, Run } from "../data/run";
import { countSentence, wiringCounts } from "../data/significance";
import { drawColorBar, drawLegend, formatNumber, legendHeight, type Box, type LegendEntry } from "../draw/axes";
import { measureText } from "../draw/canvas";
import { inkOn, viridis } from "../draw/color";
import { LayerCache, type Surface } from "../draw/surface";
import { headTip, pairStyles, stepHead, type Context, type PairStyle, type View } from "../ui/context";
import { button, segmented, select } from "../ui/controls";
import { el } from "../ui/dom";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { State } from "../ui/store";
import { tableCard } from "../ui/table_card";
import type { Theme } from "../ui/theme";
import { panBy, zoomAround, type ZoomHooks } from "../ui/zoom";
import { edgeControls } from "./edge_controls";
import { edgeWidth, lineScale, strength } from "./edge_width";
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
import { labelStep } from "./grid";
import { colorOptions, nodeColors, type NodeColors } from "./node_color";
import { columnGroups, columnLabel, WiringLayout } from "./wiring_layout";
import { RouteIndex, routeEdges, routePath, type Route } from "./wiring_routes";

export const wiring: View = {
  id: "wiring",
  title: "Wiring",
  about:
    "Heads by layer, from left to right. A line from an earlier to a later head says that the later head can read what the earlier one writes: their subspaces are among the closest. Strong lines stand out, pale ones are beyond chance, thin gray ones are not. Click a line for its evidence.",
  available: (run) => run.edges.length > 0,
  mount(section, context) {
    const view = new Wiring(context);
    const figure = new Figure(view, context.store);
    context.figures.push(figure);
    const { main, width, more } = edgeControls(context);
    figure.controls.append(...main, ...width, ...view.controls(figure), more);
    section.append(countLine(context.run), figure.element);
    const counts = wiringTable(context.run);
    if (counts) section.append(counts);
  },
};

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

/** Above this number of heads, those without an edge are left out at first. */
const maxUnfolded = 300;
/** Edges with an end that is no head. */
const otherStyle: PairStyle = { color: "#AA4499" };

class Wiring implements FigureSpec {
  readonly id = "wiring";
  readonly title = "Connections between heads";
  readonly caption =
    "Ctrl and the wheel, or + and \u2212, zoom; drag to move; a double click or 0 shows all. Widths have the same scale in every page; where layers are close together, all lines and the legend are thinner.";
  private readonly pairs: Map<string, PairStyle>;
  private readonly otherEdges: Edge[];
  /** MLPs and rotary keys. */
  private readonly others: string[];
  private colors: NodeColors;
  private by: string;
  private folded: boolean;
  private withOthers = true;
  private edges: Edge[] = [];
  private filtered = "";
  private filter: State["filter"] | null = null;
  private layout: WiringLayout;
  private version = 0;
  private routes: (Route | null)[] = [];
  private routed = "";
  private index: RouteIndex | null = null;
  private readonly caches = { nodes: new LayerCache(), edges: new LayerCache(), faded: new LayerCache() };
  /** The part of the figure that shows the wiring. */
  private window: Box = { left: 0, top: 0, width: 0, height: 0 };
  /** All of the wiring at the present zoom, before it is moved by `offset`. */
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private offset = { x: 0, y: 0 };
  /** Factor of the widths of all lines. */
  private thin = 1;

  constructor(private readonly context: Context) {
    const { run } = context;
    this.pairs = pairStyles([...new Set(run.edges.map((edge) => edge.pair))]);
    this.otherEdges = componentEdges(run);
    const ends = new Set(this.otherEdges.flatMap((edge) => [edge.source, edge.target]));
    this.others = [...ends].filter((name) => {
      const layer = parseComponent(name)?.layer ?? NaN;
      return run.layers.column({ block: "", layer }) >= 0;
    });
    this.by = colorOptions(run)[0]!.value;
    this.colors = nodeColors(run, this.by);
    this.folded = run.heads.length > maxUnfolded;
    this.layout = this.makeLayout();
  }

  controls(figure: Figure): HTMLElement[] {
    const change = (act: () => void) => {
      act();
      this.filter = null;
      figure.redraw();
    };
    const recolor = (by: string) =>
      change(() => {
        this.by = by;
        this.colors = nodeColors(this.context.run, by);
      });
    const heads = [
      { value: "connected", label: "connected" },
      { value: "all", label: "all" },
    ];
    const fold = (value: string) => change(() => (this.folded = value === "connected"));
    const others = [
      { value: "show", label: "show" },
      { value: "hide", label: "hide" },
    ];
    const showOthers = (value: string) => change(() => (this.withOthers = value === "show"));
    const center = () => [this.window.left + this.window.width / 2, this.window.top + this.window.height / 2] as const;
    return [
      segmented("Heads", heads, this.folded ? "connected" : "all", fold),
      ...(this.others.length > 0 ? [segmented(otherNames(this.others), others, "show", showOthers)] : []),
      select("Color", colorOptions(this.context.run), this.by, recolor).element,
      el(
        "div",
        { class: "control", role: "group", "aria-label": "Zoom" },
        button("+", () => this.zoom.zoom(1.5, ...center()), { "aria-label": "Zoom in" }),
        button("\u2212", () => this.zoom.zoom(1 / 1.5, ...center()), { "aria-label": "Zoom out" }),
        button("All", () => this.zoom.reset(), { "aria-label": "Show all of the wiring" }),
      ),
    ];
  }

  readonly zoom: ZoomHooks = {
    zoom: (by, x, y) => {
      const { store } = this.context;
      const { left, top, width, height } = this.window;
      const share = (at: number, length: number) => Math.min(1, Math.max(0, at / Math.max(1, length)));
      store.set({ zoom: zoomAround(store.state.zoom, by, share(x - left, width), share(y - top, height)) });
    },
    pan: (dx, dy) => {
      const { store } = this.context;
      store.set({ zoom: panBy(store.state.zoom, dx / this.window.width, dy / this.window.height) });
    },
    reset: () => this.context.store.set({ zoom: null }),
    zoomed: () => this.context.store.state.zoom !== null,
  };

  /** Filters the edges and arranges the heads if the filter, the folding or the chosen head have changed. */
  private update(): void {
    const { run, store } = this.context;
    const { filter, head } = store.state;
    const key = `${this.folded} ${this.withOthers} ${this.folded ? head : ""}`;
    if (filter === this.filter && key === this.filtered) return;
    this.filter = filter;
    this.filtered = key;
    const wanted = wantedHeads(run, filter);
    const all = { ...filter, pairs: [...new Set(this.otherEdges.map((edge) => edge.pair))] };
    const others = this.withOthers ? filterEdges(run, this.otherEdges, all, wanted) : [];
    this.edges = [...others, ...filterEdges(run, run.edges, filter, wanted)];
    this.layout = this.makeLayout();
    ++this.version;
  }
  private makeLayout(): WiringLayout {
    const { run, store } = this.context;
    const others = this.withOthers ? this.others : [];
    if (!this.folded) return new WiringLayout(run.heads, others, run.layers, false);
    const ends = new Set(this.edges.flatMap((edge) => [edge.source, edge.target]));
    const shown = run.heads.filter((head) => ends.has(head.name) || head.name === store.state.head);
    return new WiringLayout(shown, others, run.layers, true);
  }

  describe(): string {
    this.update();
    const { run, store } = this.context;
    const heads = this.edges.filter((edge) => this.isKey(edge)).length;
    const left = run.heads.length - [...this.layout.places.keys()].filter((name) => run.head(name)).length;
    const folded = left > 0 ? ` ${left} heads without an edge are left out.` : "";
    return `Wiring of heads: ${heads} edges of ${store.state.filter.pairs.join(", ")}.${folded} ${countSentence(run)} Arrow keys move between heads, Enter goes through the edges of a head, plus and minus zoom, Escape clears the selection.`;
  }
  note(): string {
    return filterNote(this.context.run, this.context.store.state.filter);
  }
  /** Whether an edge connects two heads. Other edges have a tooltip only. */
  private isKey(edge: Edge): boolean {
    return parseComponent(edge.source) === null && parseComponent(edge.target) === null;
  }

  private legend(theme: Theme): LegendEntry[] {
    const { filter } = this.context.store.state;
    const pairs = filter.pairs.map((pair) => ({ ...this.pairs.get(pair)!, label: pairName(pair), line: true }));
    const ends = this.edges.filter((edge) => !this.isKey(edge)).flatMap((edge) => [edge.source, edge.target]);
    const others = ends.length > 0 ? [{ ...otherStyle, label: `from or to ${otherNames(ends)}`, line: true }] : [];
    return edgeLegend(this.edges, filter, [...pairs, ...others], this.colors.legend, theme, this.thin);
  }
  private legendWidth(width: number): number {
    return this.colors.ends && width > 560 ? width - 200 : width - 20;
  }
  /** Height of what is under the wiring: labels of layers, legend, color bar. */
  private below(width: number): number {
    const entries = this.legend(this.context.store.state.theme);
    const rows = Math.max(36, legendHeight(entries, this.legendWidth(width), measureText));
    return 60 + rows + (this.colors.ends && width <= 560 ? 44 : 0);
  }

  height(width: number): number {
    this.update();
    const row = Math.max(15, Math.min(34, width / 40));
    return Math.round(Math.max(4, this.layout.units) * row + this.below(width));
  }

  private arrange(width: number, height: number): void {
    this.update();
    const { zoom } = this.context.store.state;
    // Limit the distance between layers. In models with few layers, long lines would be hard to follow.
    const { columns } = this.layout;
    const span = Math.min(width - 76, columns * 440);
    this.window = { left: 58, top: 12, width: span, height: height - this.below(width) };
    this.thin = lineScale(span / columns);
    const factor = zoom?.factor ?? 1;
    // The first and the last layer are near the sides: half a distance between layers would be empty there.
    const side = Math.min(span / columns / 2, 30);
    const wide = columns > 1 ? (span - 2 * side) / (columns - 1) : span;
    this.box = { left: 0, top: 0, width: columns * wide * factor, height: this.window.height * factor };
    this.offset = {
      x: this.window.left + (columns > 1 ? side - wide / 2 : 0) * factor - (zoom?.x ?? 0) * span * factor,
      y: this.window.top - (zoom?.y ?? 0) * this.box.height,
    };
    const key = `${this.version} ${this.box.width} ${this.box.height}`;
    if (key === this.routed) return;
    this.routed = key;
    this.routes = routeEdges(this.edges, this.layout, this.box);
    this.index = new RouteIndex(this.routes, this.layout.columns, this.box);
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const { state } = this.context.store;
    this.arrange(width, height);
    const chosen = chosenIn(this.edges, state);
    const edge = this.edges.findIndex((one) => isEdge(one, state.edge));
    const fading = chosen !== null || edge >= 0;
    const { left, top, width: wide, height: high } = this.window;
    const clipped = (one: Surface, draw: () => void) => one.clip(left - 6, top - 6, wide + 12, high + 12, draw);
    clipped(s, () => this.drawGroups(s, theme));
    // Cache the edges and the heads: 1,000 of them take longer to draw than the few that change on hover.
    const key = `${theme.name} ${this.routed} ${this.offset.x} ${this.offset.y}`;
    const filter = `${state.filter.null_}`;
    s.layer(fading ? this.caches.faded : this.caches.edges, `${key} ${filter}`, (layer) =>
      clipped(layer, () => this.edges.forEach((_, i) => this.drawEdge(layer, i, !fading, theme))),
    );
    if (fading)
      clipped(s, () =>
        this.edges.forEach((one, i) => {
          const touched =
            edge >= 0 && state.hover === null ? i === edge : one.source === chosen || one.target === chosen;
          if (touched || i === edge) this.drawEdge(s, i, true, theme, i === edge);
        }),
      );
    s.layer(this.caches.nodes, `${key} ${this.by}`, (layer) => {
      this.drawLabels(layer, theme);
      clipped(layer, () => this.drawNodes(layer, theme));
    });
    clipped(s, () => this.drawMarks(s, theme));
    this.drawKey(s, width, height, theme);
  }

  /** Draws lines between groups of columns, behind everything else. */
  private drawGroups(s: Surface, theme: Theme): void {
    const { box, layout, offset, window } = this;
    for (const { first } of columnGroups(this.context.run.layers.asRun).slice(1)) {
      const x = offset.x + (first * box.width) / layout.columns;
      s.line(x, window.top, x, window.top + window.height, { stroke: theme.grid, width: 2 });
    }
  }

  private drawLabels(s: Surface, theme: Theme): void {
    const { box, layout, offset, window } = this;
    const bottom = window.top + window.height;
    const inside = (at: number, low: number, length: number) => at >= low && at <= low + length;
    const columnStep = labelStep(box.width / layout.columns, 26);
    const { asRun } = this.context.run.layers;
    const center = (column: number) => offset.x + ((column + 0.5) * box.width) / layout.columns;
    for (let column = 0; column < layout.columns; column += columnStep)
      if (inside(center(column), window.left, window.width))
        s.text(columnLabel(asRun[column]!), center(column), bottom + 16, { anchor: "middle", fill: theme.muted });
    for (const { first, last, name } of columnGroups(asRun)) {
      const left = Math.max(window.left, center(first));
      const right = Math.min(window.left + window.width, center(last));
      if (left <= right) s.text(name, (left + right) / 2, bottom + 32, { anchor: "middle", fill: theme.ink });
    }
    const label = (row: number, text: string) => {
      const y = offset.y + ((row + 0.5) * box.height) / layout.units;
      if (inside(y, window.top, window.height))
        s.text(text, window.left - 10, y, { anchor: "end", baseline: "middle", fill: theme.muted });
    };
    const rowStep = labelStep(box.height / layout.units, 15);
    // In folded columns, rows are not numbers of heads.
    if (!layout.folded) {
      for (let row = 0; row < layout.queryRows; row += rowStep) label(row, String(row));
      for (let row = 0; row < layout.kvRows; row += rowStep) label(layout.kvTop + row, `kv ${row}`);
    } else if (layout.kvRows > 0) label(layout.kvTop, "kv");
    for (const [kind, row] of layout.componentRows) label(row, componentNames[kind]);
    s.text("head", 12, window.top + (layout.queryRows * window.height) / layout.units / 2, {
      anchor: "middle",
      rotate: -90,
      fill: theme.ink,
    });
  }

  private drawEdge(s: Surface, i: number, touched: boolean, theme: Theme, selected = false): void {
    const edge = this.edges[i]!;
    const route = this.routes[i];
    if (!route) return;
    const { null_ } = this.context.store.state.filter;
    const width = edgeWidth(strength(edge, { null_ }), null_) * this.thin;
    const pair = this.isKey(edge) ? this.pairs.get(edge.pair)! : otherStyle;
    const path = routePath(route, this.offset.x, this.offset.y);
    const style = edgeStyle(edge, pair, width, touched, theme, chanceDash(this.edges));
    // The selected edge has a rim, because its width is a value.
    if (selected) s.path(path, { stroke: theme.mark, width: style.width + 4, opacity: 0.85 });
    if (selected) s.path(path, { stroke: theme.background, width: style.width + 2 });
    s.path(path, selected ? { ...style, opacity: 1 } : style);
  }

  private center(name: string): { x: number; y: number } | null {
    const at = this.layout.center(name, this.box);
    return at && { x: at.x + this.offset.x, y: at.y + this.offset.y };
  }
  private visible({ x, y }: { x: number; y: number }): boolean {
    const { left, top, width, height } = this.window;
    return x > left - 20 && x < left + width + 20 && y > top - 20 && y < top + height + 20;
  }

  private drawNodes(s: Surface, theme: Theme): void {
    const r = this.layout.radius(this.box);
    for (const name of this.layout.places.keys()) {
      const at = this.center(name)!;
      if (!this.visible(at)) continue;
      const head = this.context.run.head(name);
      const fill = head ? this.colors.color(name, theme) : theme.background;
      const rim = r >= 5 || !head ? { stroke: head ? theme.axis : otherStyle.color, width: head ? 1 : 1.5 } : {};
      s.rect(at.x - r, at.y - r, 2 * r, 2 * r, { fill, radius: Math.min(4, r / 2.5), ...rim });
      if (r >= 8.5)
        s.text(head ? String(head.index) : parseComponent(name)!.kind, at.x, at.y + 0.5, {
          anchor: "middle",
          baseline: "middle",
          size: 10,
          fill: !head || fill === theme.blank ? theme.muted : inkOn(fill),
        });
    }
  }

  /** Frames the chosen head, the head under the pointer and the ends of the chosen edge. */
  private drawMarks(s: Surface, theme: Theme): void {
    const { head, hover, edge } = this.context.store.state;
    const r = this.layout.radius(this.box);
    for (const name of new Set([hover, edge?.source ?? null, edge?.target ?? null, head])) {
      const at = name === null ? null : this.center(name);
      if (!at) continue;
      const style = { stroke: theme.mark, width: name === head ? 2.5 : 1.5, radius: Math.min(5, r / 2 + 1) };
      s.rect(at.x - r - 2.5, at.y - r - 2.5, 2 * r + 5, 2 * r + 5, style);
    }
  }

  private drawKey(s: Surface, width: number, height: number, theme: Theme): void {
    const bottom = this.window.top + this.window.height + 44;
    drawLegend(s, 8, bottom, this.legendWidth(width), this.legend(theme), theme);
    if (!this.colors.ends) return;
    const [low, high] = this.colors.ends;
    const at = width > 560 ? { x: width - 164, y: height - 42 } : { x: 8, y: height - 40 };
    drawColorBar(s, at.x, at.y, this.by, [formatNumber(low), formatNumber(high)], viridis, theme);
  }

  hit(x: number, y: number): Hit | null {
    const { run } = this.context;
    const { left, top, width, height } = this.window;
    if (x < left - 6 || y < top - 6 || x > left + width + 6 || y > top + height + 6) return null;
    const [inX, inY] = [x - this.offset.x, y - this.offset.y];
    const name = this.layout.at(inX, inY, this.box);
    const at = name ? this.layout.center(name, this.box) : null;
    const r = this.layout.radius(this.box) + 2;
    if (name && at && Math.abs(at.x - inX) <= r && Math.abs(at.y - inY) <= r)
      return run.head(name) ? { head: name, tip: headTip(run, name) } : { tip: [componentTitle(name)] };
    const edge = this.edges[this.index?.nearest(inX, inY, 6) ?? -1];
    if (!edge) return null;
    return { tip: edgeTip(edge, run), ...(this.isKey(edge) ? { edge: keyOf(edge) } : {}) };
  }

  key(key: string): string | null {
    const { run, store } = this.context;
    if (key === "Escape") {
      store.set({ head: null, edge: null });
      return "No head selected";
    }
    if (key === "Enter") return this.nextEdge();
    const { head } = store.state;
    const next = this.layout.folded ? this.layout.step(head, key) : stepHead(run, head, key);
    if (next === null) return null;
    store.set({ head: next });
    return `${next}, ${this.edgesOf(next).length} edges`;
  }
  /** Returns the edges of a head to other heads, strongest first. */
  private edgesOf(head: string): Edge[] {
    return this.edges.filter((edge) => this.isKey(edge) && (edge.source === head || edge.target === head)).reverse();
  }
  /** Chooses the next edge of the chosen head. */
  private nextEdge(): string | null {
    const { store } = this.context;
    const { head, edge } = store.state;
    if (head === null) return null;
    const edges = this.edgesOf(head);
    if (edges.length === 0) return `${head} has no visible edge`;
    const at = edges.findIndex((one) => isEdge(one, edge));
    const next = edges[(at + 1) % edges.length]!;
    store.set({ edge: keyOf(next) });
    return `Edge ${((at + 1) % edges.length) + 1} of ${edges.length}: ${next.source} to ${next.target}, ${next.pair}`;
  }

  data() {
    this.update();
    return edgeData(this.edges, this.context.run);
  }
}

const keyOf = ({ pair, source, target }: Edge): EdgeKey => ({ pair, source, target });
