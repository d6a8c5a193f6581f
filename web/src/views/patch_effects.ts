import { edgeOf } from "../data/edge_key";
import { standingOfCut, type CutGroup } from "../data/cut_groups";
import { isNegative, strongestCuts, type Cut, type Effect } from "../data/cuts";
import type { Measure } from "../data/measure";
import { maxOf, minOf } from "../data/stats";
import { drawAxes, drawLegend, formatNumber, linearScale, logScale, signed, type Box } from "../draw/axes";
import type { Surface } from "../draw/surface";
import { pairStyles, type Context } from "../ui/context";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";

/** Max number of edges with a label; those with the largest effects are labeled. */
const maxLabels = 24;
/** Effects smaller than this share of the largest one are drawn at the bottom. */
const smallest = 1e-5;

interface Room {
  left: number;
  top: number;
  width: number;
  height: number;
}
const standings: Record<Effect, string> = {
  beyond: " Labels: edges of the circuit.",
  none: " Marks are faint because the effects are not beyond those of random edges.",
  few: " Marks are faint because too few edges were cut to tell the effects from those of random edges.",
  unknown: " Without random edges, nothing can be said about chance.",
};
const negatives: Partial<Record<Effect, string>> = {
  none: " No effect beyond that of random edges.",
  few: " Too few edges were cut to tell.",
};
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const kinds: Record<string, string> = {
  top: "chosen by its weights",
  screen: "chosen by the screen",
  given: "given",
  control: "random",
};
const overlap = (a: Room, b: Room) =>
  a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;

/** Effects of cut edges over z of their weights. Random edges are gray crosses. */
export class PatchEffects implements FigureSpec {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  redraw: () => void = () => undefined;
  private readonly styles;
  private readonly chosen: Cut[];
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private x = (value: number) => value;
  private y = (value: number) => value;
  /** Position of the keyboard cursor among the chosen edges. */
  private cursor = -1;

  constructor(
    private readonly context: Context,
    private readonly group: CutGroup,
    private readonly measure: Measure,
  ) {
    this.id = `${group.id}-effects`;
    this.title = `Effect of cutting an edge to ${group.ends}`;
    this.styles = pairStyles([...new Set(group.cuts.map((cut) => cut.pair))]);
    this.chosen = strongestCuts(group.cuts);
    const levels = group.samples.some((one) => one.level > 0)
      ? " Dashed lines: 99 % of the random edges of a pair of roles are below."
      : "";
    const standing = standings[group.effect];
    const rings = group.cuts.some((cut) => cut.kind === "screen") ? " Rings: chosen by the screen." : "";
    this.caption = `One mark per edge that was cut. Filled: chosen by its weights, or given.${rings} Crosses: ${group.random}.${levels}${standing}`;
  }

  describe(): string {
    const named = this.chosen.slice(0, 3).map((cut) => `${this.name(cut)} ${signed(cut.effect)}`);
    const controls = this.group.cuts.filter((cut) => cut.kind === "control").length;
    const noise = negatives[this.group.effect] ?? "";
    return `${capital(this.measure.change)}, for ${this.chosen.length} chosen and ${controls} random edges.${noise} Largest: ${named.join(", ")}. Arrow keys move through the chosen edges.`;
  }
  height(width: number): number {
    return Math.round(Math.min(540, Math.max(400, width * 0.44)));
  }
  private name(cut: Cut): string {
    return `${cut.pair} ${cut.source} \u2192 ${cut.target}`;
  }
  private place(cut: Cut): [number, number] {
    return [this.x(cut.z), this.y(Math.abs(cut.effect))];
  }
  /** Edges of the circuit; without controls, the edges that were given. Nothing if there is no effect. */
  private labeled(): Cut[] {
    if (isNegative(this.group.effect)) return [];
    return this.chosen
      .filter((cut) => this.group.effect === "unknown" || standingOfCut(this.group, cut) === "in the circuit")
      .slice(0, maxLabels);
  }
  /** Returns ", in the circuit" for such an edge. */
  private standing(cut: Cut): string {
    const standing = standingOfCut(this.group, cut);
    return standing === "" ? "" : `, ${standing}`;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const entries = [
      ...[...this.styles].map(([label, { color }]) => ({ color, label })),
      ...(this.group.cuts.some((cut) => cut.kind === "control") ? [{ color: theme.faint, label: "random" }] : []),
    ];
    const top = 10 + drawLegend(s, 70, 8, width - 90, entries, theme);
    this.box = { left: 70, top, width: width - 92, height: height - top - 58 };
    const { box } = this;
    const sizes = this.group.cuts.map((cut) => Math.abs(cut.effect)).filter((size) => size > 0);
    const high = Math.max(maxOf(sizes), 1e-12);
    const low = Math.min(Math.max(minOf(sizes), high * smallest), high / 10);
    const scores = this.group.cuts.map((cut) => cut.z).filter(Number.isFinite);
    const [left, right] = scores.length > 0 ? [minOf(scores), maxOf(scores)] : [0, 1];
    const room = (right - left || 1) * 0.04;
    const x = linearScale([left - room, right + room], [box.left, box.left + box.width], width < 500 ? 5 : 9);
    const y = logScale([low / 1.5, high * 1.6], [box.top + box.height, box.top], 7);
    this.x = x;
    this.y = (size) => y(Math.max(size, low / 1.5));
    drawAxes(s, box, x, y, { x: `z of the ${this.group.scoreName}`, y: `size of the ${this.measure.change}` }, theme);
    this.drawLevels(s);
    for (const cut of this.group.cuts) if (cut.kind === "control") this.drawCut(s, cut, theme);
    for (const cut of [...this.chosen].reverse()) this.drawCut(s, cut, theme);
    this.drawMarks(s, theme);
    this.drawLabels(s, theme);
  }

  private drawLevels(s: Surface): void {
    for (const [pair, { color }] of this.styles) {
      const level = this.group.samples.find((one) => one.pair === pair)?.level ?? NaN;
      if (!(level > 0)) continue;
      const at = this.y(level);
      s.line(this.box.left, at, this.box.left + this.box.width, at, { stroke: color, dash: [5, 4], opacity: 0.8 });
    }
  }

  private drawCut(s: Surface, cut: Cut, theme: Theme): void {
    const [x, y] = this.place(cut);
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    if (cut.kind === "control") {
      s.path(`M${x - 3},${y - 3}L${x + 3},${y + 3}M${x - 3},${y + 3}L${x + 3},${y - 3}`, { stroke: theme.faint });
      return;
    }
    const { color } = this.styles.get(cut.pair)!;
    const opacity = isNegative(this.group.effect) ? 0.4 : 0.9;
    if (cut.kind === "screen") s.circle(x, y, 4, { stroke: color, width: 1.75, opacity });
    else s.circle(x, y, 4.5, { fill: color, opacity });
  }

  /** Marks edges of the chosen head, and the keyboard cursor. */
  private drawMarks(s: Surface, theme: Theme): void {
    const { head, hover } = this.context.store.state;
    this.chosen.forEach((cut, i) => {
      const touched = [head, hover].some((one) => one !== null && (cut.source === one || cut.target === one));
      if (touched || i === this.cursor)
        s.circle(...this.place(cut), i === this.cursor ? 8.5 : 7, { stroke: theme.mark, width: 1.5 });
    });
  }

  /** Labels edges beside their marks, where there is room. */
  private drawLabels(s: Surface, theme: Theme): void {
    const size = 10.5;
    const taken: Room[] = this.chosen.map((cut) => {
      const [x, y] = this.place(cut);
      return { left: x - 3, top: y - 3, width: 6, height: 6 };
    });
    for (const cut of this.labeled()) {
      const text = `${cut.source} \u2192 ${cut.target}`;
      const width = s.measure(text, size);
      const [x, y] = this.place(cut);
      const rooms = [x + 8, x - 8 - width].flatMap((left) =>
        [y, y - 9, y + 9].map((middle) => ({ left, top: middle - 6, width, height: 12 })),
      );
      const room = rooms.find(
        (one) =>
          one.left >= this.box.left &&
          one.left + width <= this.box.left + this.box.width + 20 &&
          !taken.some((other) => overlap(one, other)),
      );
      if (!room) continue;
      taken.push(room);
      s.rect(room.left - 1, room.top, width + 2, room.height, { fill: theme.background, opacity: 0.8 });
      s.text(text, room.left, room.top + 6, { baseline: "middle", size, fill: theme.ink });
    }
  }

  private tip(cut: Cut): Hit {
    const tip = [
      this.name(cut),
      { label: this.measure.change, value: signed(cut.effect) },
      { label: this.group.scoreName, value: `${formatNumber(cut.score)}, z ${formatNumber(cut.z)}` },
      ...(Number.isFinite(cut.local) ? [{ label: "local effect", value: formatNumber(cut.local) }] : []),
      { label: "edge", value: `${kinds[cut.kind] ?? cut.kind}${this.standing(cut)}` },
    ];
    const { run } = this.context;
    if (!run.hasHead(cut.source)) return { tip };
    return run.hasHead(cut.target) ? { head: cut.source, edge: edgeOf(cut), tip } : { head: cut.source, tip };
  }
  hit(x: number, y: number): Hit | null {
    let best: Cut | null = null;
    let nearest = 9;
    // Controls are last: a chosen edge is in front.
    for (const cut of [...this.chosen, ...this.group.cuts.filter((one) => one.kind === "control")]) {
      const [left, top] = this.place(cut);
      const distance = Math.hypot(left - x, top - y);
      if (!(distance < nearest)) continue;
      nearest = distance;
      best = cut;
    }
    return best ? this.tip(best) : null;
  }
  key(key: string): string | null {
    const at = this.chosen[this.cursor];
    if (key === "Enter" && at) {
      const { store } = this.context;
      if (this.group.id === "patch") store.chooseEdge(edgeOf(at));
      else store.choose(at.source);
      return `${this.name(at)} selected`;
    }
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    if (step === 0 || this.chosen.length === 0) return null;
    this.cursor = Math.min(this.chosen.length - 1, Math.max(0, this.cursor + step));
    this.redraw();
    const cut = this.chosen[this.cursor]!;
    return `${this.cursor + 1}: ${this.name(cut)}, ${signed(cut.effect)}, z ${formatNumber(cut.z)}${this.standing(cut)}`;
  }
  data() {
    return {
      columns: ["pair", "source", "target", this.group.score, "z", "local", "effect", "kind", "in_circuit"],
      rows: this.group.cuts.map((cut) => [
        ...[cut.pair, cut.source, cut.target, cut.score, cut.z, cut.local, cut.effect, cut.kind],
        cut.inCircuit ? "yes" : "no",
      ]),
      faint: this.group.cuts.map((cut) => cut.kind === "control"),
    };
  }
}
