import type { Comparison } from "../data/doc";
import { maxOf } from "../data/stats";
import { drawColorBar, formatNumber, type Box } from "../draw/axes";
import { cividis, inkOn } from "../draw/color";
import type { Surface } from "../draw/surface";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import type { ChosenPair } from "./compare";
import { truncateStart } from "./labels";

/** Matrix of distances between runs. A click on a cell chooses a pair of runs. */
export class CompareDistances implements FigureSpec {
  readonly id = "distances";
  readonly title = "Distances between runs";
  readonly caption =
    "Root mean square over features of the difference between two runs, divided by the standard deviation of all samples.";
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };

  constructor(
    private readonly comparison: Comparison,
    private readonly pair: ChosenPair,
  ) {}

  private get count(): number {
    return this.comparison.runs.length;
  }
  private distance(i: number, j: number): number {
    return this.comparison.distances[i * this.count + j] ?? NaN;
  }
  private name(i: number): string {
    return this.comparison.runs[i]!.name;
  }
  describe(): string {
    const listed = this.comparison.pairs
      .slice(0, 20)
      .map(({ a, b }) => `${this.name(a)} and ${this.name(b)} ${formatNumber(this.distance(a, b))}`);
    return `Distances: ${listed.join(", ")}. Arrow keys select a pair of runs.`;
  }
  height(): number {
    return 400;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const { count } = this;
    const label = (i: number) => `${i}  ${truncateStart(this.name(i), 20)}`;
    const left = 12 + maxOf(Array.from({ length: count }, (_, i) => s.measure(label(i), 12)));
    const side = Math.min(width - left - 14, height - 92, count * 84);
    this.box = { left, top: 8, width: side, height: side };
    const cell = side / count;
    const high = Math.max(1e-9, maxOf(this.comparison.distances.map((value) => value ?? 0)));
    for (let i = 0; i < count; ++i) {
      if (cell >= 13 || i % Math.ceil(13 / cell) === 0) {
        s.text(label(i), left - 8, this.box.top + (i + 0.5) * cell, { anchor: "end", baseline: "middle" });
        s.text(String(i), left + (i + 0.5) * cell, this.box.top + side + 16, { anchor: "middle", fill: theme.muted });
      }
      for (let j = 0; j < count; ++j) this.drawCell(s, i, j, cell, high, theme);
    }
    // A white frame on a black one is visible on every color.
    for (const paint of [
      { stroke: "#000000", width: 4 },
      { stroke: "#ffffff", width: 2 },
    ]) {
      const { a, b } = this.pair;
      s.rect(left + b * cell, this.box.top + a * cell, cell, cell, { ...paint, radius: 3 });
      s.rect(left + a * cell, this.box.top + b * cell, cell, cell, { ...paint, radius: 3 });
    }
    drawColorBar(
      s,
      left,
      this.box.top + side + 30,
      "distance",
      ["0", formatNumber(high)],
      cividis,
      theme,
      Math.min(150, side),
    );
  }

  private drawCell(s: Surface, i: number, j: number, cell: number, high: number, theme: Theme): void {
    const value = this.distance(i, j);
    const x = this.box.left + j * cell;
    const y = this.box.top + i * cell;
    const gap = cell > 20 ? 1 : 0;
    const fill = Number.isFinite(value) ? cividis(value / high) : theme.blank;
    s.rect(x + gap, y + gap, cell - 2 * gap, cell - 2 * gap, { fill, radius: gap * 3 });
    if (cell < 34) return;
    const style = { anchor: "middle", baseline: "middle", size: 12, fill: inkOn(fill) } as const;
    s.text(i === j ? "0" : value.toFixed(2), x + cell / 2, y + cell / 2, style);
  }

  private at(x: number, y: number): [number, number] | null {
    const row = Math.floor(((y - this.box.top) / this.box.height) * this.count);
    const column = Math.floor(((x - this.box.left) / this.box.width) * this.count);
    const inside = row >= 0 && column >= 0 && row < this.count && column < this.count;
    return inside ? [row, column] : null;
  }
  private choose(i: number, j: number): void {
    if (i === j) return;
    [this.pair.a, this.pair.b] = i < j ? [i, j] : [j, i];
    this.pair.changed();
  }
  hit(x: number, y: number): Hit | null {
    const found = this.at(x, y);
    if (!found) return null;
    const [i, j] = found;
    const pair = this.comparison.pairs.find((one) => one.a === Math.min(i, j) && one.b === Math.max(i, j));
    const tip = [
      `${this.name(i)} \u2013 ${this.name(j)}`,
      { label: "distance", value: formatNumber(this.distance(i, j)) },
    ];
    return { tip: pair ? [...tip, { label: "verdict", value: pair.verdict }] : tip };
  }
  click(x: number, y: number): void {
    const found = this.at(x, y);
    if (found) this.choose(...found);
  }
  key(key: string): string | null {
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    const { pairs } = this.comparison;
    if (step === 0 || pairs.length === 0) return null;
    const at = pairs.findIndex((one) => one.a === this.pair.a && one.b === this.pair.b);
    const next = pairs[(at + step + pairs.length) % pairs.length]!;
    this.choose(next.a, next.b);
    return `${this.name(next.a)} and ${this.name(next.b)}, distance ${formatNumber(this.distance(next.a, next.b))}: ${next.verdict}`;
  }
  data() {
    const names = this.comparison.runs.map((run) => run.name);
    return {
      columns: ["run", ...names],
      rows: names.map((name, i) => [name, ...names.map((_, j) => this.distance(i, j))]),
    };
  }
}
