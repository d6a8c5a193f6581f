import type { ComparedRuns, Feature } from "../data/comparison";
import { maxOf, minOf, mean } from "../data/stats";
import { drawLegend, formatNumber, linearScale, logScale, type Box, type Scale } from "../draw/axes";
import { legendHeight, runLabel, runStyle } from "./compare_labels";
import type { Surface } from "../draw/surface";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";

interface Line {
  run: number;
  points: { x: number; middle: number; low: number; high: number }[];
}

const panelHeight = 230;
const below = 58;

/** Curves of all runs in one plot per feature: the mean over inputs in a band from min to max. */
export class CompareCurves implements FigureSpec {
  readonly id = "compared-curves";
  readonly title = "Decay and spectra";
  readonly caption =
    "Lines: mean over inputs. Bands: min to max over inputs. Decay: sorted Haar coefficients of the network, divided by their root mean square. Spectra: largest eigenvalues of the Markov matrix of each axis, after the first.";
  private readonly features: { feature: Feature; lines: Line[] }[];
  private dots: { x: number; y: number; feature: string; run: number; at: number; value: number }[] = [];

  constructor(private readonly compared: ComparedRuns) {
    this.features = compared.features
      .filter((feature) => feature.x.length > 1)
      .map((feature) => ({ feature, lines: linesOf(feature) }));
  }

  describe(): string {
    const names = this.features.map(({ feature }) => feature.name).join(", ");
    return `Curves of the runs ${this.compared.names.join(", ")}: ${names}.`;
  }
  private top(width: number): number {
    return 32 + legendHeight(this.compared.names, width - 80);
  }
  private perRow(width: number): number {
    return width >= 640 && this.features.length > 1 ? 2 : 1;
  }
  height(width: number): number {
    return this.top(width) - 20 + Math.ceil(this.features.length / this.perRow(width)) * (panelHeight + below);
  }

  draw(s: Surface, width: number, _height: number, theme: Theme): void {
    const across = this.perRow(width);
    const step = width / across;
    this.dots = [];
    const entries = this.compared.names.map((label, run) => ({ ...runStyle(run), label: runLabel(label), line: true }));
    drawLegend(s, 60, 2, width - 80, entries, theme);
    this.features.forEach((one, i) => {
      const box = {
        left: 60 + (i % across) * step,
        top: this.top(width) + Math.floor(i / across) * (panelHeight + below),
        width: step - 84,
        height: panelHeight - 28,
      };
      this.drawPanel(s, one.feature, one.lines, box, theme);
    });
  }

  private drawPanel(s: Surface, feature: Feature, lines: Line[], box: Box, theme: Theme): void {
    const points = lines.flatMap((line) => line.points);
    const decay = feature.name === "decay";
    const ends: [number, number] = [minOf(feature.x), maxOf(feature.x)];
    const across: [number, number] = [box.left, box.left + box.width];
    const x = decay ? logScale(ends, across, 4) : linearScale(ends, across, feature.x.length);
    const low = minOf(points.map((point) => point.low));
    const high = maxOf(points.map((point) => point.high));
    const span: [number, number] = decay ? [low, high] : [Math.min(0, low), high];
    const y = linearScale(high > low ? span : [low - 1, low + 1], [box.top + box.height, box.top], 5);
    s.text(feature.name, box.left, box.top - 10, { weight: 600 });
    this.drawFrame(s, box, x, y, decay ? "share of the coefficients" : "rank of the eigenvalue", theme);
    if (decay)
      s.text("log\u2081\u2080 magnitude / rms", box.left - 42, box.top + box.height / 2, {
        anchor: "middle",
        rotate: -90,
        size: 11,
      });
    else s.text("eigenvalue", box.left - 42, box.top + box.height / 2, { anchor: "middle", rotate: -90, size: 11 });
    for (const { run, points: curve } of lines) {
      const style = runStyle(run);
      const at = (place: number, value: number) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`;
      const upper = curve.map((point) => at(point.x, point.high));
      const lower = [...curve].reverse().map((point) => at(point.x, point.low));
      if (curve.length > 1) s.path(`M${[...upper, ...lower].join("L")}Z`, { fill: style.color, opacity: 0.14 });
      s.path(`M${curve.map((point) => at(point.x, point.middle)).join("L")}`, {
        stroke: style.color,
        width: 2.25,
        dash: style.dash ?? [],
      });
      for (const point of curve)
        this.dots.push({
          x: x(point.x),
          y: y(point.middle),
          feature: feature.name,
          run,
          at: point.x,
          value: point.middle,
        });
    }
  }

  private drawFrame(s: Surface, box: Box, x: Scale, y: Scale, label: string, theme: Theme): void {
    const bottom = box.top + box.height;
    for (const tick of y.ticks) {
      s.line(box.left, y(tick), box.left + box.width, y(tick), { stroke: theme.grid });
      s.text(y.format(tick), box.left - 6, y(tick), { anchor: "end", baseline: "middle", fill: theme.muted, size: 11 });
    }
    for (const tick of x.ticks)
      s.text(x.format(tick), x(tick), bottom + 15, { anchor: "middle", fill: theme.muted, size: 11 });
    s.line(box.left, bottom, box.left + box.width, bottom, { stroke: theme.axis });
    s.text(label, box.left + box.width / 2, bottom + 32, { anchor: "middle", size: 11 });
  }

  hit(x: number, y: number): Hit | null {
    const near = this.dots
      .map((dot) => ({ dot, distance: Math.hypot(dot.x - x, dot.y - y) }))
      .filter(({ distance }) => distance < 9)
      .sort((a, b) => a.distance - b.distance)[0]?.dot;
    if (!near) return null;
    return {
      tip: [
        this.compared.names[near.run]!,
        { label: `${near.feature} at ${formatNumber(near.at)}`, value: formatNumber(near.value) },
      ],
    };
  }
  data() {
    return {
      columns: ["feature", "run", "x", "mean", "least", "most"],
      rows: this.features.flatMap(({ feature, lines }) =>
        lines.flatMap(({ run, points }) =>
          points.map(({ x, middle, low, high }) => [feature.name, this.compared.names[run]!, x, middle, low, high]),
        ),
      ),
    };
  }
}

function linesOf(feature: Feature): Line[] {
  return feature.samples.flatMap((samples, run) => {
    const points = feature.x.flatMap((x, place) => {
      const values = samples.map((sample) => sample[place] ?? NaN).filter(Number.isFinite);
      return values.length === 0 ? [] : [{ x, middle: mean(values), low: minOf(values), high: maxOf(values) }];
    });
    return points.length === 0 ? [] : [{ run, points: points.sort((a, b) => a.x - b.x) }];
  });
}
