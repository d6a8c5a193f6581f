import type { Histogram } from "../data/doc";
import type { Run } from "../data/run";
import { drawAxes, drawColorBar, drawLegend, formatNumber, linearScale, type Box } from "../draw/axes";
import { categorical, cividis, inkOn } from "../draw/color";
import type { Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { el } from "../ui/dom";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";

const roles = ["Q", "K", "V", "O"];

/** A row of informativeness.csv. Numbers that the run does not state are NaN. */
export interface InformativenessRow {
  pair: string;
  kl: number;
  /** Interval of kl by bootstrap over heads. */
  low: number;
  high: number;
  /** Largest value that kl can have with this number of pairs. */
  ceiling: number;
  atCeiling: boolean;
  fine: number;
  mean: number;
  randomMean: number;
  randomSd: number;
}

type Row = InformativenessRow;

export function readInformativeness(run: Run): Row[] {
  const table = run.table("informativeness");
  if (!table) return [];
  return Array.from({ length: table.rows }, (_, row) => ({
    pair: table.text("pair", row),
    kl: table.number("kl", row),
    low: table.number("kl_low", row),
    high: table.number("kl_high", row),
    ceiling: table.number("kl_ceiling", row),
    atCeiling: table.text("at_ceiling", row) === "yes",
    fine: table.number("kl_fine", row),
    mean: table.number("observed_mean", row),
    randomMean: table.number("random_mean", row),
    randomSd: table.number("random_sd", row),
  }));
}

/** Formats a divergence: fewer digits below 0.1 nats, where they mean nothing. */
const klNumber = (kl: number) => formatNumber(kl, kl < 0.1 ? 1 : 3);

/** Formats a divergence with its interval: "1.2 nats (0.9 to 1.5)", "at the ceiling of 5.1 nats". */
export function klText({ kl, low, high, ceiling, atCeiling }: Row): string {
  if (atCeiling) return `at the ceiling${Number.isNaN(ceiling) ? "" : ` of ${formatNumber(ceiling)} nats`}`;
  const interval = Number.isNaN(low) ? "" : ` (${formatNumber(low, 2)} to ${formatNumber(high, 2)})`;
  return `${klNumber(kl)} nats${interval}`;
}

/** Returns the end of the color scale: the ceiling, so that divergences of noise are not bright. */
function scaleEnd(rows: readonly Row[]): number {
  const ceilings = rows.map((row) => row.ceiling).filter((value) => !Number.isNaN(value));
  return Math.max(0.5, ...rows.map((row) => row.kl), ...ceilings);
}

/** The pair of roles that both figures show. */
interface Chosen {
  pair: string;
  changed: () => void;
}

export const informativeness: View = {
  id: "informativeness",
  title: "Informativeness",
  about:
    "How much the affinities between earlier and later heads differ from those of random subspaces: KL(random \u2016 observed) in nats per pair of roles, and both distributions for the selected pair. The interval is a bootstrap over heads (95%). At the ceiling: as large as this number of pairs can show, so no number is given.",
  available: (run) => readInformativeness(run).length > 0,
  mount(section, context) {
    const best = readInformativeness(context.run).reduce((a, b) => (b.kl > a.kl ? b : a));
    const chosen: Chosen = { pair: best.pair, changed: () => undefined };
    const matrix = new Figure(new Matrix(context.run, chosen), context.store);
    const distribution = new Figure(new Distribution(context, chosen), context.store);
    chosen.changed = () => {
      matrix.redraw();
      distribution.redraw();
    };
    context.figures.push(matrix, distribution);
    section.append(el("div", { class: "pair" }, matrix.element, distribution.element));
  },
};

class Matrix implements FigureSpec {
  readonly id = "informativeness";
  readonly title = "KL per pair of roles";
  private readonly rows: Row[];
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };

  constructor(
    run: Run,
    private readonly chosen: Chosen,
  ) {
    this.rows = readInformativeness(run);
  }

  describe(): string {
    const values = this.rows.map((row) => `${row.pair} ${klText(row)}`).join(", ");
    return `Informativeness: ${values}. Arrow keys select a pair.`;
  }
  height(): number {
    return 400;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const side = Math.min(width - 70, height - 110, 320);
    this.box = { left: 56, top: 8, width: side, height: side };
    const { left, top } = this.box;
    const cell = side / 4;
    const high = scaleEnd(this.rows);
    roles.forEach((source, i) => {
      s.text(source, left - 10, top + (i + 0.5) * cell, { anchor: "end", baseline: "middle" });
      s.text(source, left + (i + 0.5) * cell, top + side + 16, { anchor: "middle" });
      roles.forEach((target, j) =>
        this.drawCell(s, source + target, left + j * cell, top + i * cell, cell, high, theme),
      );
    });
    s.text("target role", left + side / 2, top + side + 38, { anchor: "middle" });
    s.text("source role", 14, top + side / 2, { anchor: "middle", rotate: -90 });
    drawColorBar(
      s,
      left,
      height - 44,
      "KL(random \u2016 observed), nats",
      ["0", formatNumber(high)],
      cividis,
      theme,
      side,
    );
  }

  private drawCell(s: Surface, pair: string, x: number, y: number, cell: number, high: number, theme: Theme): void {
    const row = this.rows.find((one) => one.pair === pair);
    const fill = row ? cividis(row.kl / high) : theme.blank;
    s.rect(x + 1, y + 1, cell - 2, cell - 2, { fill, radius: 3, opacity: row ? 1 : 0.35 });
    if (!row) return;
    const style = { anchor: "middle", baseline: "middle", size: 13, fill: inkOn(fill) } as const;
    const small = { ...style, size: 10 };
    if (row.atCeiling) {
      s.text("at the", x + cell / 2, y + cell / 2 - 6, small);
      s.text("ceiling", x + cell / 2, y + cell / 2 + 6, small);
    } else {
      const interval = !Number.isNaN(row.low);
      s.text(klNumber(row.kl), x + cell / 2, y + cell / 2 - (interval ? 7 : 0), style);
      if (interval)
        s.text(`${formatNumber(row.low, 2)}\u2013${formatNumber(row.high, 2)}`, x + cell / 2, y + cell / 2 + 9, small);
    }
    if (pair === this.chosen.pair) s.rect(x, y, cell, cell, { stroke: theme.mark, width: 2.5, radius: 4 });
  }

  private pairAt(x: number, y: number): Row | undefined {
    const row = Math.floor(((y - this.box.top) / this.box.height) * 4);
    const column = Math.floor(((x - this.box.left) / this.box.width) * 4);
    return this.rows.find((one) => one.pair === `${roles[row] ?? ""}${roles[column] ?? ""}`);
  }
  private choose(row: Row): void {
    this.chosen.pair = row.pair;
    this.chosen.changed();
  }
  hit(x: number, y: number): Hit | null {
    const row = this.pairAt(x, y);
    if (!row) return null;
    return {
      tip: [
        row.pair,
        { label: "KL, bins as in the paper", value: klText(row) },
        ...(Number.isNaN(row.low) ? [{ label: "interval", value: "not in this run" }] : []),
        { label: "KL, finer bins", value: `${formatNumber(row.fine)} nats` },
        { label: "mean, observed", value: formatNumber(row.mean) },
        { label: "mean, random", value: formatNumber(row.randomMean) },
      ],
    };
  }
  click(x: number, y: number): void {
    const row = this.pairAt(x, y);
    if (row) this.choose(row);
  }
  key(key: string): string | null {
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    if (step === 0) return null;
    const at = this.rows.findIndex((row) => row.pair === this.chosen.pair);
    const row = this.rows[(at + step + this.rows.length) % this.rows.length]!;
    this.choose(row);
    return `${row.pair}, ${klText(row)}`;
  }
  data() {
    return {
      columns: [
        "pair",
        "kl",
        "kl_low",
        "kl_high",
        "kl_ceiling",
        "at_ceiling",
        "kl_fine",
        "observed_mean",
        "random_mean",
        "random_sd",
      ],
      rows: this.rows.map((r) => [
        ...[r.pair, r.kl, r.low, r.high, r.ceiling, r.atCeiling ? "yes" : "no"],
        ...[r.fine, r.mean, r.randomMean, r.randomSd],
      ]),
    };
  }
}

class Distribution implements FigureSpec {
  readonly id = "distribution";
  readonly title = "Observed and random affinities";

  constructor(
    private readonly context: Context,
    private readonly chosen: Chosen,
  ) {}

  private histogram(): Histogram | null {
    const all = this.context.run.doc.affinities ?? [];
    return all.find((one) => one.pair === this.chosen.pair && one.metric === "pk")?.histogram ?? null;
  }
  /** Converts counts to densities, so that the histogram and the curve share an axis. */
  private densities(h: Histogram): { x: number; observed: number; random: number }[] {
    const total = h.counts.reduce((a, b) => a + b, 0);
    return h.counts.map((count, i) => {
      const x = h.low + (i + 0.5) * h.width;
      return { x, observed: count / total / h.width, random: h.random ? gaussian(x, h.random.mean, h.random.sd) : NaN };
    });
  }

  describe(): string {
    const row = readInformativeness(this.context.run).find((one) => one.pair === this.chosen.pair);
    const means = `observed mean ${formatNumber(row?.mean ?? NaN)}, random mean ${formatNumber(row?.randomMean ?? NaN)}`;
    return `Distribution of ${this.chosen.pair} affinities: ${means}.`;
  }
  height(): number {
    return 400;
  }
  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const h = this.histogram();
    if (!h) {
      s.text("The run has no affinities for this pair.", width / 2, height / 2, {
        anchor: "middle",
        fill: theme.muted,
      });
      return;
    }
    const box: Box = { left: 62, top: 34, width: width - 82, height: height - 92 };
    const densities = this.densities(h);
    const peak = Math.max(...densities.map((one) => one.observed), h.random ? gaussian(0, 0, h.random.sd) : 0);
    const x = linearScale([h.low, h.low + h.width * h.counts.length], [box.left, box.left + box.width], 7);
    const y = linearScale([0, peak * 1.05], [box.top + box.height, box.top], 5);
    drawAxes(s, box, x, y, { x: `projection kernel, ${this.chosen.pair}`, y: "density" }, theme);
    for (const { x: at, observed } of densities) {
      const left = x(at - h.width / 2);
      const wide = Math.max(0.5, x(at + h.width / 2) - left - 0.6);
      const top = y(observed);
      if (observed > 0) s.rect(left, top, wide, box.top + box.height - top, { fill: categorical[0]!, opacity: 0.85 });
    }
    const entries: { color: string; label: string; line?: boolean }[] = [
      { color: categorical[0]!, label: "observed, earlier and later heads" },
    ];
    if (h.random) {
      const { mean, sd } = h.random;
      const points = Array.from({ length: 161 }, (_, i) => mean + ((i - 80) / 20) * sd);
      const line = points.map((v) => `${x(v).toFixed(2)},${y(gaussian(v, mean, sd)).toFixed(2)}`).join("L");
      s.path(`M${line}`, { stroke: categorical[1]!, width: 2 });
      entries.push({ color: categorical[1]!, label: "random subspaces", line: true });
    }
    drawLegend(s, box.left, 6, box.width, entries, theme);
  }
  data() {
    const h = this.histogram();
    const rows = (h ? this.densities(h) : []).map((d) => [this.chosen.pair, d.x, d.observed, d.random]);
    return { columns: ["pair", "affinity", "observed_density", "random_density"], rows };
  }
}

function gaussian(x: number, mean: number, sd: number): number {
  return Math.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * Math.sqrt(2 * Math.PI));
}
