import { verdictText, type ComparedRuns, type Difference } from "../data/comparison";
import { maxOf } from "../data/stats";
import { drawLegend, formatNumber, linearScale } from "../draw/axes";
import { categorical } from "../draw/color";
import type { Surface } from "../draw/surface";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import type { ChosenPair } from "./compare";

const rowHeight = 20;

/** Difference of two runs divided by the spread over inputs, for each feature. */
export class CompareDifferences implements FigureSpec {
  readonly id = "differences";
  readonly title = "Differences relative to the spread";
  readonly caption =
    "A feature differs if its difference exceeds the spread over inputs (right of the dashed line) and p is below 0.05 (permutation test, corrected over the features and pairs of runs).";
  private rows: { y: number; one: Difference }[] = [];
  private cursor = -1;

  constructor(
    private readonly compared: ComparedRuns,
    private readonly pair: ChosenPair,
  ) {}

  private found(): Difference[] {
    return this.compared.differences.filter((one) => one.a === this.pair.a && one.b === this.pair.b);
  }
  describe(): string {
    const [a, b] = [this.compared.names[this.pair.a]!, this.compared.names[this.pair.b]!];
    const differing = this.found().filter((one) => one.verdict === "differs");
    const names = differing.map((one) => one.feature).join(", ");
    return `${a} and ${b}: ${differing.length} of ${this.found().length} features differ${names ? `: ${names}` : ""}. Arrow keys move through the features.`;
  }
  height(): number {
    return Math.max(400, this.found().length * rowHeight + 90);
  }

  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    const found = this.found();
    const ratio = (one: Difference) => (one.spread > 0 ? Math.abs(one.difference) / one.spread : NaN);
    const left = 136;
    const right = width - 200;
    const bottom = 32 + found.length * rowHeight;
    const high = Math.max(2, maxOf(found.map(ratio).filter(Number.isFinite))) * 1.04;
    const x = linearScale([0, high], [left, right], 6);
    for (const tick of x.ticks) {
      s.line(x(tick), 32, x(tick), bottom, { stroke: theme.grid });
      s.text(x.format(tick), x(tick), bottom + 14, { anchor: "middle", fill: theme.muted });
    }
    s.line(x(1), 28, x(1), bottom, { stroke: theme.ink, dash: [3, 3] });
    s.text("difference / spread over inputs", (left + right) / 2, bottom + 34, { anchor: "middle" });
    const entries = [
      { color: categorical[1]!, label: "differs" },
      { color: theme.faint, label: "no significant difference" },
    ];
    drawLegend(s, left, 4, width - left, entries, theme);
    this.rows = found.map((one, i) => ({ y: 32 + (i + 0.5) * rowHeight, one }));
    this.rows.forEach(({ y, one }, i) => {
      const differs = one.verdict === "differs";
      if (i === this.cursor) s.rect(0, y - rowHeight / 2, width, rowHeight, { fill: theme.grid });
      s.text(one.feature, left - 10, y, { anchor: "end", baseline: "middle", weight: differs ? 600 : 400 });
      const size = ratio(one);
      if (Number.isFinite(size)) {
        s.line(left, y, x(size), y, { stroke: differs ? categorical[1]! : theme.faint, width: 1.5 });
        const dot = differs ? { fill: categorical[1]! } : { fill: theme.background, stroke: theme.muted, width: 1.5 };
        s.circle(x(size), y, 4.5, dot);
      }
      const words =
        one.verdict === "none"
          ? Math.abs(one.difference) > one.spread
            ? "not significant"
            : "no difference"
          : one.verdict;
      const p = Number.isNaN(one.pFamily) ? "" : `, p ${formatP(one.pFamily)}`;
      s.text(`${words}${p}`, right + 16, y, { baseline: "middle", fill: differs ? theme.ink : theme.muted });
    });
  }

  hit(_x: number, y: number): Hit | null {
    const row = this.rows.find((one) => Math.abs(one.y - y) <= rowHeight / 2);
    if (!row) return null;
    const { one } = row;
    return {
      tip: [
        one.feature,
        { label: this.compared.names[one.a]!, value: formatNumber(one.meanA) },
        { label: this.compared.names[one.b]!, value: formatNumber(one.meanB) },
        { label: "difference", value: formatNumber(one.difference) },
        { label: "spread", value: formatNumber(one.spread) },
        { label: "verdict", value: verdictText(one) },
      ],
    };
  }
  key(key: string): string | null {
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    const found = this.found();
    if (step === 0 || found.length === 0) return null;
    this.cursor = (Math.max(-1, this.cursor) + step + found.length) % found.length;
    this.redraw();
    const one = found[this.cursor]!;
    return `${one.feature}: ${verdictText(one)}`;
  }
  redraw: () => void = () => undefined;

  data() {
    const name = (at: number) => this.compared.names[at]!;
    return {
      columns: ["a", "b", "feature", "mean_a", "mean_b", "difference", "spread", "p_family", "verdict"],
      rows: this.found().map((one) => [
        name(one.a),
        name(one.b),
        one.feature,
        one.meanA,
        one.meanB,
        one.difference,
        one.spread,
        one.pFamily,
        verdictText(one),
      ]),
    };
  }
}

const formatP = (p: number) => (p < 0.001 ? "< 0.001" : formatNumber(p, 2));
