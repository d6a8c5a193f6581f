import type { Run } from "../data/run";
import { maxOf, minOf } from "../data/stats";
import type { Table } from "../data/table";
import { organizedInput, organizedInputs } from "../data/measure";
import { firstColumn } from "../data/table";
import { drawAxes, drawLegend, formatNumber, logScale, type Box } from "../draw/axes";
import { categorical } from "../draw/color";
import type { Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { select } from "../ui/controls";
import { el } from "../ui/dom";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import { tableCard } from "../ui/table_card";
import type { Theme } from "../ui/theme";
import { verdictOf } from "../ui/verdict";
import { HeadValuesFigure, type HeadValues } from "./head_values";

/** Labels of the columns of sparsity.csv; other columns are shown by name. */
const columnLabels: Record<string, string> = {
  gain: "gain over the control",
  gain_keys: "gain, attention per key kept",
  gain_shuffled: "l1, shuffled trees / found",
  l1: "l1 norm / l2 norm",
  needed_99: "share for 99% of the energy",
  "top_0.1%": "energy in the top 0.1%",
  "top_1%": "energy in the top 1%",
  "top_10%": "energy in the top 10%",
  "error_1%": "error with the top 1%",
  "error_10%": "error with the top 10%",
  entropy: "l1 entropy",
  alpha: "H\u00f6lder exponent alpha",
};

/** Sparsity of a head, or of the network, next to the control. */
interface Gain {
  name: string;
  gain: number;
  low: number;
  high: number;
  gains: boolean;
}

/** Returns the gains over the control that keeps the mask; empty if the run has none: shuffled trees are no control. */
export function readGains(run: Run): Gain[] {
  const table = run.table("sparsity");
  if (!table?.has("gain_low")) return [];
  return Array.from({ length: table.rows }, (_, row) => ({
    name: table.text(nameColumn(table), row),
    gain: table.number("gain", row),
    low: table.number("gain_low", row),
    high: table.number("gain_high", row),
    gains: table.text("gains", row) === "yes",
  })).filter((one) => Number.isFinite(one.gain));
}

/** Returns the number of heads that gain over the control; null if the run does not say. */
export function gainCounts(run: Run): { gaining: number; heads: number } | null {
  const gains = readGains(run).filter(({ name }) => run.head(name) !== undefined);
  return gains.length === 0 ? null : { gaining: gains.filter((one) => one.gains).length, heads: gains.length };
}

/** Formats a gain. `over`: what its range is over. "1.5 (1.4 to 1.7)", "0.99 (0.9 to 1.1), no gain over the control". */
export function gainText({ gain, low, high, gains }: Gain, over = ""): string {
  const interval = Number.isNaN(low) ? "" : ` (${formatNumber(low)} to ${formatNumber(high)}${over})`;
  return `${formatNumber(gain)}${interval}${gains ? "" : ", no gain over the control"}`;
}

function gainNotes(gains: readonly Gain[]): Pick<HeadValues, "unsure" | "notes"> {
  if (gains.length === 0) return {};
  return {
    unsure: new Set(gains.filter((one) => !one.gains).map((one) => one.name)),
    notes: new Map(gains.map((one) => [one.name, gainText(one)])),
  };
}

/** A negative exponent means that no regularity was found. */
function alphaNotes(table: Table, name: string): Pick<HeadValues, "unsure" | "notes"> {
  const rows = Array.from({ length: table.rows }, (_, row) => row).filter((row) => table.number("alpha", row) < 0);
  const names = rows.map((row) => table.text(name, row));
  return { unsure: new Set(names), notes: new Map(names.map((one) => [one, "no regularity found"])) };
}

/** Returns a sentence on the gain of the network and of the heads. */
function gainSentence(run: Run): string {
  if (run.table("sparsity") === undefined) return "";
  const network = readGains(run).find((one) => one.name === "network");
  const count = gainCounts(run);
  if (!count)
    return "Gain unknown: this run has no control with the same mask. Shuffled trees alone are no control, because random attention passes them.";
  const inputs = organizedInputs(run);
  const whole = network
    ? `the network has a gain of ${gainText(network, inputs > 1 ? ` over ${inputs} inputs` : "")}; `
    : "";
  return `On ${organizedInput(run)}, ${whole}${count.gaining} of ${count.heads} heads gain over the control${count.gaining === 0 ? ": no gain over the control" : ""}.`;
}

/** Labels a column. Without the control, the gain is only relative to shuffled trees. */
function labelOf(column: string, table: Table): string {
  if (column === "gain" && !table.has("gain_low")) return "l1, shuffled trees / found";
  return columnLabels[column] ?? column;
}

const nameColumn = (table: Table) => firstColumn(table, ["head", "name"]) ?? table.columns[0]!;

function measures(run: Run): HeadValues[] {
  const table = run.table("sparsity");
  if (!table) return [];
  const name = nameColumn(table);
  return table
    .numericColumns()
    .filter((column) => column === "gain_shuffled" || !/_shuffled|control|_low$|_high$|^layer$/.test(column))
    .map((column) => ({
      label: labelOf(column, table),
      values: new Map(
        Array.from(
          { length: table.rows },
          (_, row) => [table.text(name, row), table.number(column, row)] as const,
        ).filter(([head, value]) => run.head(head) !== undefined && Number.isFinite(value)),
      ),
      ...(column === "gain" ? gainNotes(readGains(run)) : {}),
      ...(column === "alpha" ? alphaNotes(table, name) : {}),
    }))
    .filter((one) => one.values.size > 0);
}

const maxHeads = 160;

export const sparsity: View = {
  id: "sparsity",
  title: "Sparsity",
  about:
    "How few Haar coefficients on the trees are needed to represent the attention maps. There are two controls: maps with the same mask and row values, organized in the same way, and shuffled trees. The gain is relative to the first one, with its range over inputs and draws; heads without a gain are gray. Random attention also passes shuffled trees.",
  available: (run) => run.table("decay") !== undefined || measures(run).length > 0,
  mount(section, context) {
    const { run, store } = context;
    const add = (figure: Figure) => {
      context.figures.push(figure);
      section.append(figure.element);
    };
    const verdict = verdictOf(context, "organize");
    if (verdict) section.append(verdict);
    if (gainSentence(run)) section.append(el("p", { class: "count" }, gainSentence(run)));
    if (run.table("decay")) add(new Figure(new Decay(context), store));
    const all = measures(run);
    if (all.length === 0) return;
    // Show all measures side by side, unless there are so many heads that one grid fills the screen.
    let shown = run.heads.length <= maxHeads ? all : all.slice(0, 1);
    const figure = new Figure(
      new HeadValuesFigure("sparsity", "Sparsity per head", context, () => shown, "value"),
      store,
    );
    figure.controls.append(
      select(
        "Measure",
        [{ value: "", label: "all" }, ...all.map(({ label }) => ({ value: label, label }))],
        shown.length > 1 ? "" : shown[0]!.label,
        (label) => {
          shown = label === "" ? all : all.filter((one) => one.label === label);
          figure.redraw();
        },
      ).element,
    );
    add(figure);
    for (const name of ["inputs", "stability"]) {
      const table = run.table(name);
      const about = run.doc.manifest.files[`${name}.csv`]?.about ?? "";
      if (table && table.rows > 0)
        section.append(tableCard({ name, title: titles[name]!, about, columns: table.columns, rows: table.cells() }));
    }
  },
};

/** Tables of organize below the figures. */
const titles: Record<string, string> = { inputs: "Gain per input", stability: "Agreement of the trees of two inputs" };

interface Curve {
  name: string;
  /** `control` is NaN if the run has no control with the same mask. */
  points: { rank: number; found: number; shuffled: number; control: number }[];
}

/** Reads the curves of decay.csv, in the order of the file. */
export function readCurves(table: Table): Curve[] {
  const name = nameColumn(table);
  const found = firstColumn(table, ["found", "magnitude", "value"]) ?? table.numericColumns().at(-2) ?? "";
  const curves = new Map<string, Curve>();
  for (let row = 0; row < table.rows; ++row) {
    const key = table.text(name, row);
    if (!curves.has(key)) curves.set(key, { name: key, points: [] });
    curves.get(key)!.points.push({
      rank: table.number("rank", row),
      found: table.number(found, row),
      shuffled: table.number("shuffled", row),
      control: table.number("control", row),
    });
  }
  return [...curves.values()];
}

const dots = [1.5, 4];

class Decay implements FigureSpec {
  readonly id = "decay";
  readonly title = "Decay of the coefficients";
  readonly caption =
    "Sorted magnitudes of the coefficients, divided by their l2 norm. Both axes are logarithmic. Solid: computed trees. Dotted: the control with the same mask, if the run has it. Dashed: shuffled trees. Thin gray lines: other heads. The faster a curve falls, the fewer coefficients are needed.";
  private readonly curves: Curve[];
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private x = (value: number) => value;
  private y = (value: number) => value;

  constructor(private readonly context: Context) {
    this.curves = readCurves(context.run.table("decay")!);
  }
  private network(): Curve | undefined {
    return this.curves.find((curve) => curve.name === "network") ?? this.curves[0];
  }
  private chosen(): Curve | undefined {
    const { head, hover } = this.context.store.state;
    return this.curves.find((curve) => curve.name === head) ?? this.curves.find((curve) => curve.name === hover);
  }

  describe(): string {
    return `Decay curves of ${this.curves.length} transforms, next to their controls.`;
  }
  height(width: number): number {
    return Math.round(Math.min(520, Math.max(360, width * 0.4)));
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    this.box = { left: 70, top: 36, width: width - 96, height: height - 94 };
    const { box } = this;
    const points = this.curves.flatMap((curve) => curve.points);
    const network = this.network();
    const chosen = this.chosen();
    const controls = [network, chosen].flatMap((curve) => curve?.points.flatMap((p) => [p.shuffled, p.control]) ?? []);
    const positive = [...points.map((p) => p.found), ...controls].filter((v) => v > 0);
    const high = Math.max(maxOf(positive), 1e-12);
    // Magnitudes far below all others are rounding errors. They would compress the rest of the plot.
    const low = Math.min(minOf(positive.filter((v) => v >= high * 1e-6)), high);
    const last = Math.max(2, maxOf(points.map((p) => p.rank)));
    const x = logScale([1, last], [box.left, box.left + box.width], 8);
    const y = logScale([low, high * 1.4], [box.top + box.height, box.top], 7);
    this.x = x;
    this.y = y;
    drawAxes(s, box, x, y, { x: "rank of the coefficient", y: "magnitude / l2 norm" }, theme);
    const line = (curve: Curve, pick: "found" | "shuffled" | "control") =>
      curve.points
        .filter((p) => p[pick] >= low)
        .map((p) => `${x(p.rank).toFixed(1)},${y(p[pick]).toFixed(1)}`)
        .join("L");
    const stroke = (curve: Curve, color: string, wide: number) => {
      const solid = line(curve, "found");
      const dashed = line(curve, "shuffled");
      const dotted = line(curve, "control");
      if (dotted) s.path(`M${dotted}`, { stroke: color, width: wide, dash: dots });
      if (dashed) s.path(`M${dashed}`, { stroke: color, width: wide * 0.75, dash: [5, 4] });
      if (solid) s.path(`M${solid}`, { stroke: color, width: wide });
    };
    for (const curve of this.curves) {
      if (curve === network || curve === chosen) continue;
      const solid = line(curve, "found");
      if (solid)
        s.path(`M${solid}`, { stroke: theme.faint, width: 0.8, opacity: this.curves.length > 200 ? 0.25 : 0.5 });
    }
    const entries: { color: string; label: string; line: boolean; dash?: number[] }[] = [];
    const add = (curve: Curve | undefined, color: string) => {
      if (!curve) return;
      stroke(curve, color, 2.5);
      entries.push({ color, label: curve.name, line: true });
      if (curve.points.some((p) => p.control > 0))
        entries.push({ color, label: `${curve.name}, control`, line: true, dash: dots });
      entries.push({ color, label: `${curve.name}, shuffled trees`, line: true, dash: [5, 4] });
    };
    add(network, categorical[0]!);
    if (chosen !== network) add(chosen, categorical[1]!);
    drawLegend(s, box.left, 8, box.width, entries, theme);
  }

  hit(px: number, py: number): Hit | null {
    let best: { curve: Curve; rank: number; value: number } | null = null;
    let minDistance = 10;
    for (const curve of this.curves) {
      for (const { rank, found } of curve.points) {
        if (!(found > 0)) continue;
        const distance = Math.hypot(this.x(rank) - px, this.y(found) - py);
        if (distance >= minDistance) continue;
        minDistance = distance;
        best = { curve, rank, value: found };
      }
    }
    if (!best) return null;
    const tip = [best.curve.name, { label: `rank ${best.rank}`, value: formatNumber(best.value) }];
    return this.context.run.head(best.curve.name) ? { head: best.curve.name, tip } : { tip };
  }
  data() {
    return {
      columns: ["name", "rank", "found", "shuffled", "control"],
      rows: this.curves.flatMap((curve) =>
        curve.points.map((p) => [curve.name, p.rank, p.found, p.shuffled, p.control]),
      ),
    };
  }
}
