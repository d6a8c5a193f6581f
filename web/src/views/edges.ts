import type { Edge, Run } from "../data/run";
import { formatNumber } from "../draw/axes";
import type { EdgeFilter, State } from "../ui/store";
import type { FigureData } from "../ui/figure";
import type { TipLine } from "../ui/tooltip";

/** Returns the edges that pass a filter, weakest first, so that strong edges are drawn last. */
export function filterEdges(edges: readonly Edge[], filter: EdgeFilter): Edge[] {
  const pairs = new Set(filter.pairs);
  return edges
    .filter((edge) => pairs.has(edge.pair) && edge.rank <= filter.top)
    .filter((edge) => filter.q >= 1 || (edge.q[filter.null_] ?? 1) <= filter.q)
    .sort((a, b) => strength(a, filter) - strength(b, filter));
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

/** Returns the line width of an edge, from its strength relative to the strongest edge. */
export function edgeWidth(edge: Edge, filter: EdgeFilter, strongest: number): number {
  const share = strongest > 0 ? Math.max(0, strength(edge, filter)) / strongest : 1;
  return 1 + 3 * Math.sqrt(share);
}

export function edgeTip(edge: Edge, run: Run): TipLine[] {
  const lines: TipLine[] = [
    `${edge.source} \u2192 ${edge.target}, ${edge.pair}`,
    { label: "affinity", value: `${formatNumber(edge.score)} (rank ${edge.rank})` },
  ];
  for (const null_ of run.nulls)
    lines.push({ label: null_, value: `z ${formatNumber(edge.z[null_]!)}, q ${formatNumber(edge.q[null_]!, 2)}` });
  return lines;
}

export function edgeData(edges: readonly Edge[], run: Run): FigureData {
  return {
    columns: ["pair", "source", "target", "score", "rank", ...run.nulls.flatMap((n) => [`z_${n}`, `q_${n}`])],
    rows: [...edges]
      .reverse()
      .map((e) => [e.pair, e.source, e.target, e.score, e.rank, ...run.nulls.flatMap((n) => [e.z[n]!, e.q[n]!])]),
  };
}
