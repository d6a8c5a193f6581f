import type { Table } from "../data/table";
import { drawAxes, formatNumber, linearScale, type Box } from "../draw/axes";
import { categorical } from "../draw/color";
import type { Surface } from "../draw/surface";
import type { View } from "../ui/context";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";

export const convergence: View = {
  id: "convergence",
  title: "Convergence",
  about:
    "The score of the questionnaire after each iteration: the sum of the magnitudes of all Haar coefficients. A smaller score means that the trees fit the maps better. It need not fall with every iteration.",
  available: (run) => (run.table("convergence")?.rows ?? 0) > 1,
  mount(section, { run, store, figures }) {
    const figure = new Figure(new Scores(run.table("convergence")!), store);
    figures.push(figure);
    section.append(figure.element);
  },
};

class Scores implements FigureSpec {
  readonly id = "convergence";
  readonly title = "Score per iteration";
  readonly caption = "Sum of the magnitudes of the Haar coefficients. The axis does not start at 0.";
  private readonly points: { iteration: number; score: number }[];
  private x = (value: number) => value;
  private y = (value: number) => value;

  constructor(table: Table) {
    this.points = Array.from({ length: table.rows }, (_, row) => ({
      iteration: table.number("iteration", row),
      score: table.number("score", row),
    }));
  }

  describe(): string {
    const scores = this.points.map(({ score }) => formatNumber(score, 5));
    return `Scores of ${this.points.length} iterations, from ${scores[0]} to ${scores.at(-1)}.`;
  }
  height(width: number): number {
    return Math.round(Math.min(320, Math.max(220, width * 0.25)));
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const box: Box = { left: 80, top: 16, width: width - 106, height: height - 70 };
    const scores = this.points.map(({ score }) => score);
    const low = Math.min(...scores);
    const high = Math.max(...scores);
    const margin = (high - low) * 0.1 || Math.abs(high) * 0.01 || 1;
    const last = this.points.at(-1)!.iteration;
    const x = linearScale([1, last], [box.left, box.left + box.width], last - 1);
    const y = linearScale([low - margin, high + margin], [box.top + box.height, box.top]);
    this.x = x;
    this.y = y;
    drawAxes(s, box, x, y, { x: "iteration", y: "score" }, theme);
    const line = this.points.map((p) => `${x(p.iteration).toFixed(1)},${y(p.score).toFixed(1)}`).join("L");
    s.path(`M${line}`, { stroke: categorical[0]!, width: 2.5 });
    for (const point of this.points) s.circle(x(point.iteration), y(point.score), 4, { fill: categorical[0]! });
  }

  hit(px: number, py: number): Hit | null {
    const near = this.points.find((p) => Math.hypot(this.x(p.iteration) - px, this.y(p.score) - py) < 10);
    if (!near) return null;
    return { tip: [`iteration ${near.iteration}`, { label: "score", value: formatNumber(near.score, 6) }] };
  }
  data() {
    return { columns: ["iteration", "score"], rows: this.points.map((p) => [p.iteration, p.score]) };
  }
}
