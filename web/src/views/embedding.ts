import type { NumberArray } from "../data/array";
import type { Run } from "../data/run";
import { drawColorBar, drawLegend, formatNumber } from "../draw/axes";
import { viridis } from "../draw/color";
import type { Surface } from "../draw/surface";
import { headTip, type Context, type View } from "../ui/context";
import { button, segmented, select, type Option } from "../ui/controls";
import { isolated } from "../ui/dom";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { Camera, type Point3 } from "./camera";
import { elementNames } from "./tree";
import { colorOptions, nodeColors, type NodeColors } from "./node_color";
import { Spheres } from "./spheres";

type AxisName = "head" | "query" | "key";

/** An element, projected by the camera. */
interface Placed {
  i: number;
  x: number;
  y: number;
  scale: number;
}
interface Room {
  left: number;
  right: number;
  top: number;
  bottom: number;
}
const overlap = (a: Room, b: Room) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Max number of elements with a label; the nearest ones are labeled. */
const maxLabels = 120;

export const embedding: View = {
  id: "embedding",
  title: "Diffusion map",
  about:
    "The first three coordinates of the diffusion map. Elements with similar attention maps are close together. Drag or use the arrow keys to rotate. Use Ctrl and the mouse wheel, or plus and minus, to zoom.",
  available: (run) => axes(run).length > 0,
  async mount(section, context) {
    const view = new Embedding(context);
    const figure = new Figure(view, context.store);
    context.figures.push(figure);
    section.append(figure.element);
    await view.attach(figure);
  },
};

/** Returns the axes with at least one coordinate. */
function axes(run: Run): AxisName[] {
  return (["head", "query", "key"] as const).filter((name) => {
    const shape = run.axis(name)?.embedding?.shape;
    return shape !== undefined && shape[0]! > 1 && shape[1]! > 0;
  });
}

class Embedding implements FigureSpec {
  readonly id = "embedding";
  readonly title = "Diffusion coordinates";
  readonly transparent = true;
  private readonly names: AxisName[];
  private axis: AxisName;
  private array: NumberArray | null = null;
  private points: Point3[] = [];
  private labels: string[] = [];
  private by: string;
  private colors: NodeColors;
  private readonly camera = new Camera();
  private spheres: Spheres | null = null;
  private figure: Figure | null = null;
  private last: { x: number; y: number } | null = null;
  private moved = false;

  constructor(private readonly context: Context) {
    this.names = axes(context.run);
    this.axis = this.names[0]!;
    this.by = this.options()[0]!.value;
    this.colors = nodeColors(context.run, this.by);
  }

  /** Heads can be colored in several ways, tokens only by position. */
  private options(): Option[] {
    return this.axis === "head" ? colorOptions(this.context.run) : [{ value: "layer", label: "position" }];
  }

  async attach(figure: Figure): Promise<void> {
    this.figure = figure;
    this.spheres = Spheres.create();
    const stage = figure.element.querySelector(".stage");
    if (this.spheres) stage?.prepend(this.spheres.canvas);
    const color = select("Color", this.options(), this.by, (by) => {
      this.by = by;
      this.colors = nodeColors(this.context.run, by);
      figure.redraw();
    });
    const words = { head: "heads", query: "queries", key: "keys" };
    if (this.names.length > 1)
      figure.controls.append(
        segmented(
          "Axis",
          this.names.map((value) => ({ value, label: words[value] })),
          this.axis,
          (axis) => {
            this.axis = axis as AxisName;
            this.by = this.options()[0]!.value;
            this.colors = nodeColors(this.context.run, this.by);
            color.setOptions(this.options(), this.by);
            void this.load();
          },
        ),
      );
    figure.controls.append(
      color.element,
      button("Reset view", () => {
        this.camera.reset();
        figure.redraw();
      }),
    );
    figure.element.querySelector("canvas[tabindex]")?.addEventListener(
      "wheel",
      (event) => {
        const wheel = event as WheelEvent;
        if (!wheel.ctrlKey) return;
        wheel.preventDefault();
        this.camera.zoom(Math.exp(-wheel.deltaY / 400));
        figure.redraw();
      },
      { passive: false },
    );
    await this.load();
  }

  private async load(): Promise<void> {
    const { run } = this.context;
    const packed = run.axis(this.axis)!.embedding!;
    this.array = await run.array(packed);
    const [n, dimensions] = packed.shape as [number, number];
    const tree = run.doc.trees?.[this.axis];
    const names = this.axis === "head" ? run.organizedHeads() : tree ? elementNames(run, tree, this.axis) : [];
    this.labels = Array.from({ length: n }, (_, i) => names[i] ?? String(i));
    this.points = normalized(
      Array.from(
        { length: n },
        (_, i) => [0, 1, 2].map((k) => (k < dimensions ? this.array!.at(i * dimensions + k) : 0)) as Point3,
      ),
    );
    this.figure?.redraw();
  }

  describe(): string {
    return `Diffusion map of ${this.points.length} elements in three coordinates. Arrow keys rotate it, plus and minus zoom.`;
  }
  height(width: number): number {
    return Math.round(Math.min(640, Math.max(420, width * 0.5)));
  }

  private color(i: number, theme: Theme): string {
    if (this.axis === "head") {
      // A lit sphere in the blank color would be as white as the page.
      const color = this.colors.color(this.labels[i]!, theme);
      return color === theme.blank ? theme.axis : color;
    }
    return viridis(i / Math.max(1, this.points.length - 1));
  }
  private isChosen(i: number): boolean {
    const { head, hover } = this.context.store.state;
    return this.axis === "head" && (this.labels[i] === head || this.labels[i] === hover);
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    this.camera.fit(width, height - 50);
    this.drawAxes(s, theme);
    const placed = this.points
      .map((point, i) => ({ i, ...this.camera.project(point) }))
      .sort((a, b) => b.depth - a.depth);
    const radius = this.radius();
    // On the screen, three.js draws the points on a canvas underneath. Exports draw them here.
    const screen = this.spheres !== null && s.screen;
    if (screen)
      this.spheres!.render(
        this.points.map((point, i) => ({ point, color: this.color(i, theme) })),
        this.camera,
        radius,
        width,
        height,
      );
    for (const { i, x, y, scale } of placed) {
      if (!screen)
        s.circle(x, y, radius * scale, { fill: this.color(i, theme), stroke: theme.background, width: 0.75 });
      if (this.isChosen(i)) s.circle(x, y, radius * scale + 3, { stroke: theme.mark, width: 2.5 });
    }
    this.drawLabels(s, placed, theme);
    this.drawKey(s, width, height, theme);
  }

  private radius(): number {
    return this.points.length > 400 ? 4 : this.points.length > 120 ? 5.5 : 7;
  }

  /** Returns the projected ends of the axes, one per coordinate of the data. */
  private axisEnds(sign = 1): { x: number; y: number }[] {
    const reach = 1.08 * sign;
    const ends: Point3[] = [
      [reach, 0, 0],
      [0, reach, 0],
      [0, 0, reach],
    ];
    return ends.slice(0, this.array?.shape[1] ?? 3).map((end) => this.camera.project(end));
  }
  private drawAxes(s: Surface, theme: Theme): void {
    const begins = this.axisEnds(-1);
    this.axisEnds().forEach((to, k) => {
      const from = begins[k]!;
      s.line(from.x, from.y, to.x, to.y, { stroke: theme.axis, opacity: 0.5 });
      s.text(`\u03c8${"\u2081\u2082\u2083"[k]}`, to.x + 4, to.y - 4, { fill: theme.muted, size: 13 });
    });
  }

  /** Draws labels where there is room next to the spheres: the chosen head first, then from near to far. */
  private drawLabels(s: Surface, placed: Placed[], theme: Theme): void {
    const near = placed.slice(-maxLabels).reverse();
    const taken: Room[] = this.axisEnds().map(({ x, y }) => ({ left: x + 4, right: x + 20, top: y - 18, bottom: y }));
    const spheres = near.map(({ x, y, scale }) => {
      const r = this.radius() * scale;
      return { left: x - r, right: x + r, top: y - r, bottom: y + r };
    });
    const order = near
      .map((_, k) => k)
      .sort((a, b) => Number(this.isChosen(near[b]!.i)) - Number(this.isChosen(near[a]!.i)));
    for (const k of order) {
      const { i, y } = near[k]!;
      const chosen = this.isChosen(i);
      const text = this.axis === "head" ? this.labels[i]! : isolated(this.labels[i]!);
      const style = { size: chosen ? 13 : 10.5, weight: chosen ? 650 : 400, fill: chosen ? theme.ink : theme.muted };
      const width = s.measure(text, style.size, style.weight);
      const own = spheres[k]!;
      const rooms = [own.right + 3, own.left - 3 - width].map((left) => ({
        left,
        right: left + width,
        top: y - 7,
        bottom: y + 6,
      }));
      const free = rooms.find(
        (room) => !taken.some((one) => overlap(one, room)) && !spheres.some((one, j) => j !== k && overlap(one, room)),
      );
      const room = free ?? (chosen ? rooms[0]! : undefined);
      if (!room) continue;
      taken.push(room);
      s.text(text, room.left, y + 4, style);
    }
  }

  private drawKey(s: Surface, width: number, height: number, theme: Theme): void {
    const legend = this.axis === "head" ? this.colors.legend : [];
    drawLegend(s, 8, height - 28, width - 190, legend, theme);
    const ends = this.axis === "head" ? this.colors.ends : ([0, this.points.length - 1] as const);
    const label = this.axis === "head" ? this.by : "position";
    if (ends)
      drawColorBar(s, width - 164, height - 42, label, [formatNumber(ends[0]), formatNumber(ends[1])], viridis, theme);
  }

  private nearest(x: number, y: number): number {
    let best = -1;
    let minDistance = this.radius() + 5;
    this.points.forEach((point, i) => {
      const at = this.camera.project(point);
      const distance = Math.hypot(at.x - x, at.y - y);
      if (distance >= minDistance) return;
      minDistance = distance;
      best = i;
    });
    return best;
  }
  hit(x: number, y: number): Hit | null {
    const i = this.nearest(x, y);
    if (i < 0) return null;
    const name = this.labels[i]!;
    return this.axis === "head"
      ? { head: name, tip: headTip(this.context.run, name) }
      : { tip: [`${i} ${isolated(name)}`] };
  }
  drag(x: number, y: number, start: boolean): boolean {
    if (start) this.moved = false;
    else if (this.last) {
      this.moved ||= Math.hypot(x - this.last.x, y - this.last.y) > 2;
      this.camera.turn((x - this.last.x) / 150, (y - this.last.y) / 150);
      this.figure?.redraw();
    }
    this.last = { x, y };
    return true;
  }
  dragEnd(): void {
    this.last = null;
  }
  click(x: number, y: number): void {
    const head = this.moved ? undefined : this.hit(x, y)?.head;
    if (head) this.context.store.choose(head);
  }
  key(key: string): string | null {
    const turns: Record<string, [number, number]> = {
      ArrowLeft: [-0.15, 0],
      ArrowRight: [0.15, 0],
      ArrowUp: [0, -0.15],
      ArrowDown: [0, 0.15],
    };
    const turn = turns[key];
    if (turn) this.camera.turn(...turn);
    else if (key === "+" || key === "-") this.camera.zoom(key === "+" ? 1.15 : 1 / 1.15);
    else return null;
    this.figure?.redraw();
    return "View changed";
  }
  data() {
    const [n, dimensions] = (this.array?.shape ?? [0, 0]) as [number, number];
    return {
      columns: ["element", "name", ...Array.from({ length: dimensions }, (_, k) => `coordinate_${k + 1}`)],
      rows: Array.from({ length: n }, (_, i) => [
        i,
        this.labels[i] ?? "",
        ...Array.from({ length: dimensions }, (_, k) => this.array!.at(i * dimensions + k)),
      ]),
    };
  }
}

/** Centers the points and scales them so that the max absolute coordinate is 1. */
function normalized(points: Point3[]): Point3[] {
  const middle = [0, 1, 2].map((k) => {
    const values = points.map((point) => point[k]!);
    return (Math.min(...values) + Math.max(...values)) / 2;
  });
  const reach = Math.max(1e-12, ...points.flatMap((point) => point.map((v, k) => Math.abs(v - middle[k]!))));
  return points.map((point) => point.map((v, k) => (v - middle[k]!) / reach) as Point3);
}
