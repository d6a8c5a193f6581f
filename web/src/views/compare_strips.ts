import type { ComparedRuns, Feature } from "../data/comparison";
import { maxOf, minOf, mean } from "../data/stats";
import { drawLegend, formatNumber, linearScale, type Box } from "../draw/axes";
import type { Surface } from "../draw/surface";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { featureLabels, legendHeight, runLabel, runStyle } from "./compare_labels";

const panelHeight = 150;
const below = 18;

/** Numbers of all runs with one dot per input: sparsity, shapes of trees, informativeness. */
export class CompareStrips implements FigureSpec {
  readonly id = "compared-figures";
  readonly title = "Sparsity, trees and weights";
  readonly caption =
    "One dot per input; the bar is the mean. Depth: mean number of splits above an element, divided by log2 of the number of elements. Branching: parts per split. Balance: 1 if all parts have the same size. Features in bold differ between at least two runs.";
  private readonly features: Feature[];
  private readonly differing: Set<string>;
  private dots: { x: number; y: number; feature: string; run: number; value: number }[] = [];

  constructor(private readonly compared: ComparedRuns) {
    this.features = compared.features.filter(isShared);
    this.differing = new Set(compared.differences.filter((one) => one.verdict === "differs").map((one) => one.feature));
  }

  describe(): string {
    const listed = this.features.map((feature) => {
      const means = feature.samples.map((samples) => formatNumber(mean(values(samples))));
      return `${feature.name} ${means.join(", ")}`;
    });
    return `Means of ${this.compared.names.join(", ")}: ${listed.join("; ")}.`;
  }
  private top(width: number): number {
    return 38 + legendHeight(this.compared.names, width - 60);
  }
  private perRow(width: number): number {
    const room = Math.max(170, 60 + 26 * this.compared.names.length);
    const fitting = Math.max(1, Math.min(this.features.length, Math.floor(width / room)));
    return Math.ceil(this.features.length / Math.ceil(this.features.length / fitting));
  }
  height(width: number): number {
    return this.top(width) - 22 + Math.ceil(this.features.length / this.perRow(width)) * (panelHeight + below);
  }

  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    const across = this.perRow(width);
    const step = width / across;
    this.dots = [];
    drawLegend(
      s,
      44,
      2,
      width - 60,
      this.compared.names.map((label, run) => ({ ...runStyle(run), label: runLabel(label) })),
      theme,
    );
    this.features.forEach((feature, i) =>
      this.drawPanel(
        s,
        feature,
        {
          left: 44 + (i % across) * step,
          top: this.top(width) + Math.floor(i / across) * (panelHeight + below),
          width: step - 64,
          height: panelHeight - 30,
        },
        theme,
      ),
    );
  }

  private drawPanel(s: Surface, feature: Feature, box: Box, theme: Theme): void {
    const all = feature.samples.flatMap(values);
    const low = minOf(all);
    const high = maxOf(all);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    const y = linearScale([low - room, high + room], [box.top + box.height, box.top], 4);
    const title = featureLabels[feature.name] ?? feature.name;
    s.text(title, box.left, box.top - 8, { weight: this.differing.has(feature.name) ? 650 : 400 });
    for (const tick of y.ticks) {
      s.line(box.left, y(tick), box.left + box.width, y(tick), { stroke: theme.grid });
      s.text(y.format(tick), box.left - 5, y(tick), { anchor: "end", baseline: "middle", fill: theme.muted, size: 10 });
    }
    const step = box.width / this.compared.names.length;
    feature.samples.forEach((samples, run) => {
      const found = values(samples);
      if (found.length === 0) return;
      const { color } = runStyle(run);
      const middle = box.left + (run + 0.5) * step;
      const wide = Math.min(18, step * 0.35);
      found.forEach((value, i) => {
        // Offset dots by their index instead of at random, so that the drawing is reproducible.
        const x = middle + wide * (((i * 0.618034) % 1) - 0.5);
        s.circle(x, y(value), 2.75, { fill: color, opacity: 0.55 });
        this.dots.push({ x, y: y(value), feature: feature.name, run, value });
      });
      s.line(middle - wide, y(mean(found)), middle + wide, y(mean(found)), { stroke: theme.ink, width: 2 });
    });
  }

  hit(x: number, y: number): Hit | null {
    const near = this.dots
      .map((dot) => ({ dot, distance: Math.hypot(dot.x - x, dot.y - y) }))
      .filter(({ distance }) => distance < 7)
      .sort((a, b) => a.distance - b.distance)[0]?.dot;
    if (!near) return null;
    return { tip: [this.compared.names[near.run]!, { label: near.feature, value: formatNumber(near.value, 4) }] };
  }
  data() {
    return {
      columns: ["feature", "run", "input", "value"],
      rows: this.features.flatMap((feature) =>
        feature.samples.flatMap((samples, run) =>
          samples.map((sample, input) => [feature.name, this.compared.names[run]!, input, sample[0] ?? NaN]),
        ),
      ),
    };
  }
}

const values = (samples: readonly number[][]) => samples.map((sample) => sample[0] ?? NaN).filter(Number.isFinite);

/** Whether a feature is a number, not a curve, and at least two runs have it. */
export const isShared = (feature: Feature) =>
  feature.x.length === 0 && feature.samples.filter((samples) => values(samples).length > 0).length > 1;
