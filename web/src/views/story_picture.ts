import type { StoryCircuit, StoryEdge } from "../data/circuit";
import { isEdge, type EdgeKey } from "../data/edge_key";
import { parseHead } from "../data/head";
import { loadShownInput } from "../data/head_maps";
import { mappedHeads } from "../data/mapped_heads";
import { formatNumber, signed } from "../draw/axes";
import { headCells, mapImageNote } from "../draw/map_image";
import type { Cells, Surface } from "../draw/surface";
import { headTip, pairStyles, type Context } from "../ui/context";
import type { FigureSpec, Hit } from "../ui/figure";
import { inputName } from "../ui/input_options";
import type { Theme } from "../ui/theme";

interface Place {
  x: number;
  y: number;
}

/** Below this width the picture has no room for numbers and classes; the list of edges has them. */
const labelWidth = 600;

/** Pixels on a side of the maps in the picture, before they are enlarged. */
const mapPixels = 96;

/** The strongest supported circuit: heads from early to late layers with their maps, and what each edge does. */
export class StoryPicture implements FigureSpec {
  readonly id = "story-circuit";
  readonly title: string;
  readonly caption: string;
  private readonly heads: string[];
  private readonly layers: number[];
  private readonly maps = new Map<string, Cells>();
  private readonly colors;
  private places = new Map<string, Place>();
  private size = 0;
  private labeled = true;
  private labels: { edge: StoryEdge; x: number; y: number }[] = [];

  constructor(
    private readonly context: Context,
    private readonly circuit: StoryCircuit,
  ) {
    const cut = circuit.source === "cut";
    this.title = cut ? "The circuit with the largest measured effects" : "The clearest wiring by weights";
    const number = cut ? "the effect of cutting the edge" : "z of its affinity";
    const at = context.store.state.input;
    const input = context.run.doc.inputs?.[at];
    const pictures = input ? ` Pictures: attention on input ${inputName(input, at)}. ${mapImageNote(input)}` : "";
    this.caption = `Heads from early (left) to late layers. Numbers on lines: ${number}.${pictures} Select a head or an edge to see its evidence.`;
    this.heads = [...new Set(circuit.edges.flatMap(({ source, target }) => [source, target]))];
    this.layers = [...new Set(this.heads.map((name) => parseHead(name)?.layer ?? 0))].sort((a, b) => a - b);
    this.colors = pairStyles([...new Set(circuit.edges.map((edge) => edge.pair))]);
  }

  /** Loads the maps of the heads. */
  async load(): Promise<void> {
    const { run, store } = this.context;
    const shown = await loadShownInput(run, store.state.input);
    if (!shown) return;
    for (const name of this.heads) {
      const [head] = mappedHeads(run, name).filter((one) => shown.input.tokens.heads.includes(one));
      const cells = head ? headCells(shown, head, mapPixels, store.state.query) : null;
      if (cells) this.maps.set(name, cells);
    }
  }

  describe(): string {
    const edges = this.circuit.edges.map(
      (edge) => `${edge.source} to ${edge.target} (${edge.pair}): ${this.number(edge)}`,
    );
    return `${this.title}. ${edges.join("; ")}.`;
  }

  private rows(): number {
    return Math.max(
      1,
      ...this.layers.map((layer) => this.heads.filter((name) => parseHead(name)?.layer === layer).length),
    );
  }
  height(width: number): number {
    return Math.round(this.rows() * (this.side(width) + 64) + 52);
  }
  private side(width: number): number {
    return Math.max(34, Math.min(110, (width - 40) / this.layers.length / 2.1));
  }

  private layout(width: number): void {
    this.labeled = width >= labelWidth;
    this.size = this.side(width);
    this.places = new Map();
    const step = (width - this.size - 30) / Math.max(1, this.layers.length - 1);
    const total = this.rows();
    this.layers.forEach((layer, column) => {
      const names = this.heads.filter((name) => parseHead(name)?.layer === layer);
      const above = (total - names.length) / 2;
      names.forEach((name, row) => {
        // Odd columns are lower, so that lines over a column pass between its heads.
        const shift = names.length === total ? 0 : column % 2 === 0 ? -0.22 : 0.22;
        const x = 15 + this.size / 2 + (this.layers.length > 1 ? column * step : (width - this.size - 30) / 2);
        this.places.set(name, { x, y: 24 + this.size / 2 + Math.max(0, above + row + shift) * (this.size + 64) });
      });
    });
  }

  /** Returns what the picture says of an edge: the effect of cutting it, or else its z. */
  number({ effect, z }: StoryEdge): string {
    if (this.circuit.source !== "cut") return `z ${formatNumber(z, 2)}`;
    const logits = this.context.run.doc.manifest.commands.patch?.identity?.metric === "logit-diff";
    return `${signed(Number(effect.toPrecision(2)))}${logits ? "" : " nats"}`;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    this.layout(width);
    this.labels = [];
    for (const edge of this.circuit.edges) this.drawEdge(s, edge, theme);
    for (const name of this.heads) this.drawHead(s, name, theme);
    if (!this.labeled) this.labels = [];
    for (const { edge, x, y } of this.labels) {
      const text = `${edge.pair} ${this.number(edge)}`;
      const half = s.measure(text, 11, 600) / 2 + 4;
      s.rect(x - half, y - 9, 2 * half, 17, { fill: theme.background, radius: 4, opacity: 0.9 });
      s.text(text, x, y, { anchor: "middle", baseline: "middle", size: 11, weight: 600, fill: theme.ink });
    }
    s.text("early layers", 8, height - 8, { fill: theme.muted });
    s.text("late layers", width - 8, height - 8, { anchor: "end", fill: theme.muted });
  }

  private drawEdge(s: Surface, edge: StoryEdge, theme: Theme): void {
    const from = this.places.get(edge.source);
    const to = this.places.get(edge.target);
    if (!from || !to) return;
    const half = this.size / 2;
    const twins = this.circuit.edges.filter((one) => one.source === edge.source && one.target === edge.target);
    const shift = (twins.indexOf(edge) - (twins.length - 1) / 2) * 22;
    const points = [
      { x: from.x + half, y: from.y + shift / 2 },
      ...this.detour(edge),
      { x: to.x - half, y: to.y + shift },
    ];
    const path = points.slice(1).map((point, i) => {
      const last = points[i]!;
      const middle = (last.x + point.x) / 2;
      return `C${middle},${last.y} ${middle},${point.y} ${point.x},${point.y}`;
    });
    const faint = edge.standing === "not";
    s.path(`M${points[0]!.x},${points[0]!.y}${path.join("")}`, {
      stroke: faint ? theme.faint : this.colors.get(edge.pair)!.color,
      width: isEdge(edge, this.context.store.state.edge) ? 6 : faint ? 1 : edge.standing === "out" ? 3.5 : 1.8,
      opacity: 0.9,
    });
    // Next to the target, where the lines of a source have spread out. Several lines to one target take turns.
    const last = points.at(-2)!;
    const end = points.at(-1)!;
    const order = this.circuit.edges.filter((one) => one.target === edge.target).indexOf(edge);
    const t = 0.74 - 0.13 * (order % 3);
    const bent = 3 * t ** 2 - 2 * t ** 3;
    const across = 1.5 * t - 1.5 * t ** 2 + t ** 3;
    this.labels.push({ edge, x: last.x + (end.x - last.x) * across, y: last.y + (end.y - last.y) * bent });
  }

  /** Returns the points at which an edge passes the columns between its ends, above or below the heads there. */
  private detour({ source, target }: StoryEdge): Place[] {
    const from = this.places.get(source)!;
    const to = this.places.get(target)!;
    const half = this.size / 2;
    const between = [...this.places.values()].filter(({ x }) => x > from.x + 1 && x < to.x - 1);
    return [...new Set(between.map(({ x }) => x))]
      .sort((a, b) => a - b)
      .map((x) => {
        const wanted = from.y + ((to.y - from.y) * (x - from.x)) / (to.x - from.x);
        const heads = between.filter((place) => place.x === x);
        const free = (y: number) => heads.every((head) => y < head.y - half - 8 || y > head.y + half + 36);
        const gaps = heads.flatMap((head) => [head.y - half - 14, head.y + half + 44]);
        const open = [wanted, ...gaps].filter(free);
        return {
          x,
          y: open.reduce((best, y) => (Math.abs(y - wanted) < Math.abs(best - wanted) ? y : best), open[0]!),
        };
      });
  }

  private drawHead(s: Surface, name: string, theme: Theme): void {
    const { run, store } = this.context;
    const { x, y } = this.places.get(name)!;
    const half = this.size / 2;
    const chosen = store.state.head === name || store.state.hover === name;
    s.rect(x - half, y - half, this.size, this.size, { fill: theme.background, radius: 4 });
    const cells = this.maps.get(name);
    if (cells) s.cells(cells, ...fitted(cells, x, y, this.size));
    else s.rect(x - half, y - half, this.size, this.size, { fill: theme.blank, radius: 4 });
    const style = { stroke: chosen ? theme.mark : theme.axis, width: chosen ? 3 : 1, radius: 4 };
    s.rect(x - half, y - half, this.size, this.size, style);
    s.text(name, x, y + half + 15, { anchor: "middle", weight: 600, fill: theme.ink });
    const known = run.head(name)?.classes.join(", ") ?? "";
    if (known && this.labeled) s.text(known, x, y + half + 29, { anchor: "middle", size: 11, fill: theme.muted });
  }

  hit(x: number, y: number): Hit | null {
    const { run } = this.context;
    const half = this.size / 2;
    for (const [name, place] of this.places)
      if (Math.abs(place.x - x) <= half && Math.abs(place.y - y) <= half + 10)
        return { head: name, tip: headTip(run, name) };
    const label = this.labels.find((one) => Math.abs(one.x - x) < 44 && Math.abs(one.y - y) < 12);
    if (!label) return null;
    const { pair, source, target } = label.edge;
    const edge: EdgeKey = { pair, source, target };
    return { edge, tip: [`${source} \u2192 ${target}, ${pair}`, { label: "effect", value: this.number(label.edge) }] };
  }

  key(key: string): string | null {
    const { store } = this.context;
    if (key === "Escape") {
      store.set({ edge: null, head: null });
      return "Nothing selected";
    }
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (step === undefined) return null;
    const { edges } = this.circuit;
    const now = edges.findIndex((one) => isEdge(one, store.state.edge));
    const next = edges[(now + step + edges.length) % edges.length] ?? edges[0]!;
    store.set({ edge: { pair: next.pair, source: next.source, target: next.target } });
    return `${next.pair} ${next.source} to ${next.target}, ${this.number(next)}`;
  }

  data() {
    return {
      columns: ["pair", "source", "target", "z", "effect"],
      rows: this.circuit.edges.map(({ pair, source, target, z, effect }) => [
        ...[pair, source, target, z],
        Number.isFinite(effect) ? effect : null,
      ]),
    };
  }
}

/** Returns the left top corner, width and height of cells in the middle of a square. */
function fitted({ rows, columns }: Cells, x: number, y: number, size: number): [number, number, number, number] {
  const longer = Math.max(rows, columns);
  const [width, height] = [(size * columns) / longer, (size * rows) / longer];
  return [x - width / 2, y - height / 2, width, height];
}
