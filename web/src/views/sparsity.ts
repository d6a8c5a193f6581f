import type { Run } from "../data/run";
import { maxOf, minOf } from "../data/stats";
import type { Table } from "../data/table";
import { firstColumn } from "../data/table";
import { drawAxes, drawLegend, formatNumber, logScale, type Box } from "../draw/axes";
import { categorical } from "../draw/color";
import type { Surface } from "../draw/surface";
import type { Context, View } from "../ui/context";
import { select } from "../ui/controls";
import { Figure, type FigureSpec, type Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { HeadValuesFigure, type HeadValues } from "./head_values";

/** Labels of the columns of sparsity.csv; other columns are shown by name. */
const columnLabels: Record<string, string> = {
  gain: "gain over shuffled trees",
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

const nameColumn = (table: Table) => firstColumn(table, ["head", "name"]) ?? table.columns[0]!;

function measures(run: Run): HeadValues[] {
  const table = run.table("sparsity");
  if (!table) return [];
  const name = nameColumn(table);
  return table
    .numericColumns()
    .filter((column) => !/_shuffled|_low$|_high$|^layer$/.test(column))
    .map((column) => ({
      label: columnLabels[column] ?? column,
      values: new Map(
        Array.from(
          { length: table.rows },
          (_, row) => [table.text(name, row), table.number(column, row)] as const,
        ).filter(([head, value]) => run.head(head) !== undefined && Number.isFinite(value)),
      ),
    }))
    .filter((one) => one.values.size > 0);
}

const maxHeads = 160;

export const sparsity: View = {
  id: "sparsity",
  title: "Sparsity",
  about:
    "How few Haar coefficients on the trees are needed to represent the attention maps. The control uses the same trees with shuffled elements; the difference is the gain from the organization.",
  available: (run) => run.table("decay") !== undefined || measures(run).length > 0,
  mount(section, context) {
    const { run, store } = context;
    const add = (figure: Figure) => {
      context.figures.push(figure);
      section.append(figure.element);
    };
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
  },
};

interface Curve {
  name: string;
  points: { rank: number; found: number; shuffled: number }[];
}

/** Reads the curves of decay.csv, in the order of the file. */
export function readCurves(table: Table): Curve[] {
  const name = nameColumn(table);
  const found = firstColumn(table, ["found", "magnitude", "value"]) ?? table.numericColumns().at(-2) ?? "";
  const shuffled = firstColumn(table, ["shuffled", "control"]) ?? "";
  const curves = new Map<string, Curve>();
  for (let row = 0; row < table.rows; ++row) {
    const key = table.text(name, row);
    if (!curves.has(key)) curves.set(key, { name: key, points: [] });
    curves.get(key)!.points.push({
      rank: table.number("rank", row),
      found: table.number(found, row),
      shuffled: table.number(shuffled, row),
    });
  }
  return [...curves.values()];
}

class Decay implements FigureSpec {
  readonly id = "decay";
  readonly title = "Decay of the coefficients";
  readonly caption =
    "Sorted magnitudes of the coefficients, divided by their l2 norm. Both axes are logarithmic. Solid: computed trees. Dashed: shuffled trees. Thin gray lines: other heads. The faster a curve falls, the fewer coefficients are needed.";
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
    return `Decay curves of ${this.curves.length} transforms, with shuffled trees as the control.`;
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
    const controls = [network, chosen].flatMap((curve) => curve?.points.map((p) => p.shuffled) ?? []);
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
    const line = (curve: Curve, pick: "found" | "shuffled") =>
      curve.points
        .filter((p) => p[pick] >= low)
        .map((p) => `${x(p.rank).toFixed(1)},${y(p[pick]).toFixed(1)}`)
        .join("L");
    const stroke = (curve: Curve, color: string, wide: number) => {
      const solid = line(curve, "found");
      const dashed = line(curve, "shuffled");
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
      entries.push(
        { color, label: curve.name, line: true },
        { color, label: `${curve.name}, shuffled trees`, line: true, dash: [5, 4] },
      );
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
      columns: ["name", "rank", "found", "shuffled"],
      rows: this.curves.flatMap((curve) => curve.points.map((p) => [curve.name, p.rank, p.found, p.shuffled])),
    };
  }
}
