import type { Histogram } from "../data/doc";
import type { Edge } from "../data/run";
import { drawAxes, formatNumber, linearScale, type Box } from "../draw/axes";
import type { Surface } from "../draw/surface";
import type { FigureSpec } from "../ui/figure";
import type { Theme } from "../ui/theme";

/** Where the affinity of an edge lies among those of all pairs of the same roles and of random subspaces. */
export class EdgeHistogram implements FigureSpec {
  readonly id: string;
  readonly title = "All pairs of these roles";
  readonly caption =
    "Bars: affinities of all pairs of heads. Line: random subspaces of the same size (isotropic null). Arrow: this edge. Heights: square root scale.";

  constructor(
    private readonly edge: Edge,
    private readonly histogram: Histogram,
    private readonly metric: string,
  ) {
    this.id = `edge-${edge.pair}-${edge.source}-${edge.target}`;
  }

  describe(): string {
    const { edge, histogram } = this;
    const random = histogram.random ? ` Random subspaces have ${formatNumber(histogram.random.mean)} on average.` : "";
    return `Histogram of ${this.metric} for ${edge.pair}. This edge: ${formatNumber(edge.score)}.${random}`;
  }
  height(): number {
    return 210;
  }

  /** Returns the expected count of a bin under the isotropic null, up to the Beta law's deviation from a Gaussian. */
  private expected(bin: number): number {
    const { low, width, counts, random } = this.histogram;
    if (!random || !(random.sd > 0)) return NaN;
    const total = counts.reduce((a, b) => a + b, 0);
    const z = (low + (bin + 0.5) * width - random.mean) / random.sd;
    return ((total * width) / (random.sd * Math.sqrt(2 * Math.PI))) * Math.exp(-0.5 * z * z);
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const { low, width: step, counts } = this.histogram;
    const box: Box = { left: 68, top: 18, width: width - 82, height: height - 74 };
    const high = Math.max(low + step * counts.length, this.edge.score * 1.04);
    const root = (value: number) => Math.sqrt(Math.max(0, value));
    const most = Math.max(1, ...counts.map(root));
    const x = linearScale([low, high], [box.left, box.left + box.width], 4);
    const y = linearScale([0, most], [box.top + box.height, box.top], 3);
    // Heights are square roots, so that a single pair is visible; labels are numbers of pairs.
    const pairs = Object.assign((value: number) => y(value), {
      ticks: y.ticks.filter(Number.isInteger),
      format: (value: number) => (value * value).toLocaleString("en-US"),
    });
    drawAxes(s, box, x, pairs, { x: `affinity (${this.metric})`, y: "pairs, square root scale" }, theme);
    const bottom = box.top + box.height;
    counts.forEach((count, i) => {
      if (count === 0) return;
      const left = x(low + i * step);
      const top = y(root(count));
      s.rect(left, top, Math.max(1, x(low + (i + 1) * step) - left - 0.5), bottom - top, { fill: theme.axis });
    });
    const line = counts
      .map((_, i) => ({ at: x(low + (i + 0.5) * step), count: this.expected(i) }))
      .filter(({ count }) => Number.isFinite(count))
      .map(({ at, count }) => `${at.toFixed(1)},${y(Math.min(most, root(count))).toFixed(1)}`);
    if (line.length > 1) s.path(`M${line.join("L")}`, { stroke: theme.ink, width: 1.5, dash: [4, 3] });
    const at = x(this.edge.score);
    s.path(`M${at},${bottom - 2}l-5,-12h10z`, { fill: "#d55e00" });
    s.line(at, box.top + 4, at, bottom - 12, { stroke: "#d55e00", width: 2 });
    s.text(formatNumber(this.edge.score), at, box.top - 4, {
      anchor: at > box.left + box.width - 30 ? "end" : "middle",
      fill: theme.ink,
      weight: 600,
    });
  }

  data() {
    const { low, width, counts } = this.histogram;
    return {
      columns: ["from", "to", "pairs", "random"],
      rows: counts.map((count, i) => [low + i * width, low + (i + 1) * width, count, this.expected(i)]),
    };
  }
}
