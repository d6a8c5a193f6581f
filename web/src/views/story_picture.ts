import type { StoryCircuit, StoryEdge } from "../data/circuit";
import { detectedKinds, kindName } from "../data/head_facts";
import { isEdge, type EdgeKey } from "../data/edge_key";
import { loadShownInput, partWith } from "../data/head_maps";
import { measureOf } from "../data/measure";
import { mappedHeads } from "../data/mapped_heads";
import { formatNumber, plainNumber } from "../draw/axes";
import { headCells, mapImageNote } from "../draw/map_image";
import type { Cells, Surface } from "../draw/surface";
import { headTip, pairStyles, type Context } from "../ui/context";
import type { FigureSpec, Hit } from "../ui/figure";
import { inputName } from "../ui/input_options";
import type { Theme } from "../ui/theme";
import { between, layoutStory, placeLabels, type Place, type StoryLayout } from "./story_layout";

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
  private readonly maps = new Map<string, Cells>();
  /** What is known of a head, under its name: its classes, or what detectors found, or whose map a KV head shows. */
  private readonly notes = new Map<string, string>();
  private readonly colors;
  private places = new Map<string, Place>();
  private size = 0;
  private labeled = true;
  private labels: { edge: StoryEdge; x: number; y: number }[] = [];
  /** The last part of each line, which has its label. */
  private ends: { edge: StoryEdge; from: Place; to: Place }[] = [];
  /** Points of the lines, to find the edge under the pointer. */
  private points: { edge: StoryEdge; x: number; y: number }[] = [];

  constructor(
    private readonly context: Context,
    private readonly circuit: StoryCircuit,
  ) {
    const cut = circuit.source === "cut";
    this.title = cut ? "The circuit with the largest measured effects" : "The clearest wiring by weights";
    const number = cut
      ? `change of the ${measureOf(context.run).name} when the edge is cut`
      : "z, how many standard deviations the affinity is above that of random subspaces";
    const at = context.store.state.input;
    const input = context.run.inputs[at]?.first;
    const pictures = input ? ` Pictures: attention on input ${inputName(input, at)}. ${mapImageNote(input)}` : "";
    this.caption = `Every line leads from an earlier to a later layer. OQ, OK, OV: the later head reads what the earlier one writes as query, key or value. Thick lines stand out, thin ones are beyond chance. Numbers: ${number}.${pictures} Click a head or a line for its evidence.`;
    this.heads = [...new Set(circuit.edges.flatMap(({ source, target }) => [source, target]))];
    this.colors = pairStyles([...new Set(circuit.edges.map((edge) => edge.pair))]);
    const detected = detectedKinds(context.run);
    for (const name of this.heads) {
      const known = context.run.head(name)?.classes ?? [];
      const kinds = known.length > 0 ? known : (detected.get(name) ?? []).map(kindName);
      this.notes.set(name, kinds.join(", "));
    }
  }

  /** Loads the maps of the heads. */
  async load(): Promise<void> {
    const { run, store } = this.context;
    const shown = await loadShownInput(run, store.state.input);
    if (!shown) return;
    for (const name of this.heads) {
      const [head] = mappedHeads(run, name).filter((one) => partWith(shown, one));
      const cells = head ? headCells(shown, head, mapPixels, store.state.query) : null;
      if (cells) this.maps.set(name, cells);
      if (cells && head !== name) this.notes.set(name, `map of ${head}`);
    }
  }

  describe(): string {
    const edges = this.circuit.edges.map(
      (edge) => `${edge.source} to ${edge.target} (${edge.pair}): ${this.number(edge)}`,
    );
    return `${this.title}. ${edges.join("; ")}.`;
  }

  private layout(width: number): StoryLayout {
    const mapped = this.context.run.inputs.length > 0;
    return layoutStory(this.circuit.edges, width, width >= labelWidth, mapped);
  }
  height(width: number): number {
    return this.layout(width).height;
  }

  /** Returns what the picture says of an edge: the effect of cutting it, or else its z. */
  number({ effect, z }: StoryEdge): string {
    if (this.circuit.source !== "cut") return `z ${formatNumber(z, 2)}`;
    return `${effect > 0 ? "+" : ""}${plainNumber(effect)}${measureOf(this.context.run).unit}`;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const { places, size, right, byLayer } = this.layout(width);
    this.labeled = width >= labelWidth;
    this.places = places;
    this.size = size;
    this.labels = [];
    this.ends = [];
    this.points = [];
    for (const edge of this.circuit.edges) this.drawEdge(s, edge, theme);
    for (const name of this.heads) this.drawHead(s, name, theme);
    if (this.labeled) this.drawLabels(s, theme);
    s.text(byLayer ? "early layers" : "earlier", 8, height - 8, { fill: theme.muted });
    s.text(byLayer ? "late layers" : "later", right, height - 8, { anchor: "end", fill: theme.muted });
  }

  private drawLabels(s: Surface, theme: Theme): void {
    const text = (edge: StoryEdge) => `${edge.pair} ${this.number(edge)}`;
    const half = (edge: StoryEdge) => s.measure(text(edge), 11, 600) / 2 + 4;
    const places = placeLabels(this.ends.map(({ edge, from, to }) => ({ from, to, half: half(edge) })));
    this.labels = this.ends.map(({ edge }, i) => ({ edge, ...places[i]! }));
    for (const { edge, x, y } of this.labels) {
      s.rect(x - half(edge), y - 9, 2 * half(edge), 17, { fill: theme.background, radius: 4, opacity: 0.9 });
      s.text(text(edge), x, y, { anchor: "middle", baseline: "middle", size: 11, weight: 600, fill: theme.ink });
    }
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
      for (let t = 0; t < 1; t += 1 / 32) this.points.push({ edge, ...between(last, point, t) });
      return `C${middle},${last.y} ${middle},${point.y} ${point.x},${point.y}`;
    });
    const faint = edge.standing === "not";
    s.path(`M${points[0]!.x},${points[0]!.y}${path.join("")}`, {
      stroke: faint ? theme.faint : this.colors.get(edge.pair)!.color,
      width: isEdge(edge, this.context.store.state.edge) ? 6 : faint ? 1 : edge.standing === "out" ? 3.5 : 1.8,
      opacity: 0.9,
    });
    this.ends.push({ edge, from: points.at(-2)!, to: points.at(-1)! });
  }

  /** Returns the points at which an edge passes the columns between its ends, above or below the heads there. */
  private detour({ source, target }: StoryEdge): Place[] {
    const from = this.places.get(source)!;
    const to = this.places.get(target)!;
    const half = this.size / 2;
    const between = [...this.places.values()].filter(({ x }) => x > from.x + 1 && x < to.x - 1);
    return [...new Set(between.map(({ x }) => x))]
      .sort((a, b) => a - b)
      .flatMap((x) => {
        const wanted = from.y + ((to.y - from.y) * (x - from.x)) / (to.x - from.x);
        const heads = between.filter((place) => place.x === x);
        const free = (y: number) => heads.every((head) => y < head.y - half - 8 || y > head.y + half + 36);
        const gaps = heads.flatMap((head) => [head.y - half - 14, head.y + half + 44]);
        const open = [wanted, ...gaps].filter(free);
        const y = open.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best), open[0]!);
        // Level above or below the whole square.
        return y === wanted ? [{ x, y }] : [x - half, x + half].map((at) => ({ x: at, y }));
      });
  }

  private drawHead(s: Surface, name: string, theme: Theme): void {
    const { store } = this.context;
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
    const note = this.notes.get(name)!;
    if (note && this.labeled) s.text(note, x, y + half + 29, { anchor: "middle", size: 11, fill: theme.muted });
  }

  hit(x: number, y: number): Hit | null {
    const { run } = this.context;
    const half = this.size / 2;
    for (const [name, place] of this.places)
      if (Math.abs(place.x - x) <= half && Math.abs(place.y - y) <= half + 10)
        return { head: name, tip: headTip(run, name) };
    const distance = (one: Place) => Math.hypot(one.x - x, one.y - y);
    const near = this.points.reduce((best, one) => (distance(one) < distance(best) ? one : best), this.points[0]!);
    const label = this.labels.find((one) => Math.abs(one.x - x) < 44 && Math.abs(one.y - y) < 12);
    const found = label ?? (near && distance(near) < 10 ? near : null);
    if (!found) return null;
    const { pair, source, target } = found.edge;
    const edge: EdgeKey = { pair, source, target };
    const what = this.circuit.source === "cut" ? "effect of cutting" : "affinity";
    return { edge, tip: [`${source} \u2192 ${target}, ${pair}`, { label: what, value: this.number(found.edge) }] };
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
