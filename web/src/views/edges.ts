import type { Edge, Run } from "../data/run";
import { countSentence, floorP, formatP, standingLabels, type Standing } from "../data/significance";
import { formatNumber } from "../draw/axes";
import type { PairStyle } from "../ui/context";
import { el } from "../ui/dom";
import type { FigureData } from "../ui/figure";
import type { EdgeFilter, Shown, State } from "../ui/store";
import type { Theme } from "../ui/theme";
import type { TipLine } from "../ui/tooltip";

const order: Standing[] = ["not", "unknown", "beyond", "out"];
const passing: Record<Shown, Standing[]> = { all: order, beyond: ["beyond", "out"], out: ["out"] };

/** Returns the edges that pass a filter. Those that stand out and the strongest ones are last, so they are on top. */
export function filterEdges(edges: readonly Edge[], filter: EdgeFilter): Edge[] {
  const pairs = new Set(filter.pairs);
  return edges
    .filter((edge) => pairs.has(edge.pair) && edge.rank <= filter.top)
    .filter((edge) => passing[filter.shown].includes(edge.standing))
    .sort((a, b) => order.indexOf(a.standing) - order.indexOf(b.standing) || strength(a, filter) - strength(b, filter));
}

/** Returns z under the chosen null model; the score if there is no null model. */
export function strength(edge: Edge, filter: EdgeFilter): number {
  return edge.z[filter.null_] ?? edge.score;
}

/** Returns the head under the pointer, or the chosen head, if it has a visible edge; otherwise null. */
export function chosenIn(edges: readonly Edge[], { hover, head }: Pick<State, "hover" | "head">): string | null {
  const touched = (name: string | null) =>
    name !== null && edges.some((edge) => edge.source === name || edge.target === name);
  return touched(hover) ? hover : touched(head) ? head : null;
}

/** Beyond this number, edges that are not beyond chance are solid: dotted lines take long to draw. */
const maxDotted = 150;

/** Returns the dots of edges that are not beyond chance. */
export function chanceDash(edges: readonly Edge[]): number[] {
  return edges.filter((edge) => edge.standing === "not").length > maxDotted ? [] : [2, 4];
}

/** Style of a line per standing: edges that stand out are wide and opaque, others thinner, chance gray and dotted. */
export function edgeStyle(edge: Edge, pair: PairStyle, share: number, touched: boolean, theme: Theme, dash: number[]) {
  const reach = Math.sqrt(Math.min(1, Math.max(0, share)));
  const shown = {
    out: { stroke: pair.color, dash: pair.dash ?? [], width: 2 + 3 * reach, opacity: 0.95 },
    beyond: { stroke: pair.color, dash: pair.dash ?? [], width: 0.8 + 1.4 * reach, opacity: 0.7 },
    not: { stroke: theme.faint, dash, width: dash.length > 0 ? 1 : 0.7, opacity: dash.length > 0 ? 0.6 : 0.35 },
    unknown: { stroke: pair.color, dash: pair.dash ?? [], width: 0.8 + 1.2 * reach, opacity: 0.45 },
  }[edge.standing];
  return { ...shown, opacity: touched ? shown.opacity : shown.opacity / 8 };
}

/** Returns the legend of the standings that occur. */
export function standingLegend(edges: readonly Edge[], theme: Theme) {
  const line = {
    out: { color: theme.ink, width: 4.5 },
    beyond: { color: theme.ink, width: 1.4 },
    not: { color: theme.faint, width: 1.2, dash: chanceDash(edges) },
    unknown: { color: theme.muted, width: 1.4 },
  };
  return [...order]
    .reverse()
    .filter((standing) => edges.some((edge) => edge.standing === standing))
    .map((standing) => ({ ...line[standing], label: standingLabels[standing], line: true }));
}

/** Returns the counts of all pairs of heads, as a line above a figure. */
export function countLine(run: Run): HTMLElement {
  return el("p", { class: "count" }, countSentence(run));
}

export function edgeTip(edge: Edge, run: Run): TipLine[] {
  const lines: TipLine[] = [
    `${edge.source} \u2192 ${edge.target}, ${edge.pair}`,
    { label: "edge", value: standingLabels[edge.standing] },
    { label: "affinity", value: `${formatNumber(edge.score)} (rank ${edge.rank} of ${edge.pair})` },
  ];
  const headline = run.headlineNull;
  const nulls = [...run.nulls].sort((a, b) => Number(b === headline) - Number(a === headline));
  for (const null_ of nulls) {
    const p = formatP(edge.p[null_]!, edge.log10p[null_]);
    lines.push({
      label: `${null_} null`,
      value: `z ${formatNumber(edge.z[null_]!)}, p ${p}, q ${formatP(edge.q[null_]!)}`,
    });
  }
  return lines;
}

export function edgeData(edges: readonly Edge[], run: Run): FigureData {
  const known = edges.some((edge) => edge.standing !== "unknown");
  const flag = (yes: boolean) => (yes ? "yes" : "no");
  const flags = (standing: Standing) =>
    known ? [flag(standing === "beyond" || standing === "out"), flag(standing === "out")] : [];
  const logarithms = run.nulls.filter((n) => edges.some((edge) => Number.isFinite(edge.log10p[n])));
  const listed = [...edges].reverse();
  return {
    columns: [
      ...["pair", "source", "target", "score", "rank"],
      ...(known ? ["beyond_chance", "stands_out"] : []),
      ...run.nulls.flatMap((n) => [`z_${n}`, `q_${n}`, ...(logarithms.includes(n) ? [`log10_p_${n}`] : [])]),
    ],
    rows: listed.map((e) => [
      ...[e.pair, e.source, e.target, e.score, e.rank],
      ...flags(e.standing),
      ...run.nulls.flatMap((n) => [e.z[n]!, floorP(e.q[n]!), ...(logarithms.includes(n) ? [e.log10p[n]!] : [])]),
    ]),
    faint: listed.map((e) => e.standing === "not"),
  };
}
