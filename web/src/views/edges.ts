import { parseComponent } from "../data/components";
import { headFacts } from "../data/head_facts";
import { parseHead } from "../data/head";
import { layerLabel } from "../data/layers";
import type { Edge, Run } from "../data/run";
import { countSentence, floorP, formatP, standingLabels, type Standing } from "../data/significance";
import { formatNumber, type LegendEntry } from "../draw/axes";
import type { PairStyle } from "../ui/context";
import { el } from "../ui/dom";
import type { FigureData } from "../ui/figure";
import { passes } from "../ui/head_filter";
import type { EdgeFilter, Shown, State } from "../ui/store";
import type { Theme } from "../ui/theme";
import type { TipLine } from "../ui/tooltip";
import { minWidth, strength, widthLegend } from "./edge_width";

const order: Standing[] = ["not", "unknown", "beyond", "out"];
const places: Record<Standing, number> = { not: 0, unknown: 1, beyond: 2, out: 3 };
const passing: Record<Shown, Standing[]> = { all: order, beyond: ["beyond", "out"], out: ["out"] };

const roleNames: Record<string, string> = { O: "output", Q: "query", K: "key", V: "value", M: "MLP", R: "rotary key" };

/** Returns a pair of roles in words: "OQ: output to query". */
export function pairName(pair: string): string {
  const [from, to] = [...pair].map((role) => roleNames[role]);
  return pair.length === 2 && from && to ? `${pair}: ${from} to ${to}` : pair;
}

/** Returns the heads that pass the filters on detector, class and name; null if none of these is set. */
export function wantedHeads(run: Run, { detector, class_, name }: EdgeFilter): Set<string> | null {
  if (detector === "" && class_ === "" && name.trim() === "") return null;
  const filter = { layers: null, detector, class_, beyond: false, text: name };
  return new Set(headFacts(run).flatMap((facts) => (passes(facts, filter) ? [facts.head.name] : [])));
}

/** Returns the place of the layer of a head or another component in the order in which layers run. */
function columnOf(run: Run, name: string): number {
  const head = run.head(name) ?? parseHead(name);
  if (head) return run.layers.column(head);
  return run.layers.column({ block: "", layer: parseComponent(name)?.layer ?? NaN });
}

/**
 * Returns the edges that pass a filter. Those that stand out and the strongest ones are last, so they are on top.
 * `wanted`: the heads of which one must be an end; null: any.
 */
export function filterEdges(
  run: Run,
  edges: readonly Edge[],
  filter: EdgeFilter,
  wanted: ReadonlySet<string> | null = null,
): Edge[] {
  const pairs = new Set(filter.pairs);
  const { layers, minZ, maxQ } = filter;
  const within = (name: string) => {
    if (layers === null) return true;
    const column = columnOf(run, name);
    return column >= layers[0] && column <= layers[1];
  };
  const strong = (edge: Edge) => minZ === null || (edge.z[filter.null_] ?? edge.z.span ?? NaN) >= minZ;
  const known = (edge: Edge) => Object.values(edge.q).filter((q) => !Number.isNaN(q));
  const sure = (edge: Edge) => maxQ === null || (known(edge).length > 0 && known(edge).every((q) => q <= maxQ));
  return edges
    .filter((edge) => pairs.has(edge.pair) && edge.rank <= filter.top)
    .filter((edge) => passing[filter.shown].includes(edge.standing))
    .filter((edge) => within(edge.source) && within(edge.target))
    .filter((edge) => strong(edge) && sure(edge))
    .filter((edge) => wanted === null || wanted.has(edge.source) || wanted.has(edge.target))
    .sort((a, b) => places[a.standing] - places[b.standing] || strength(a, filter) - strength(b, filter));
}

/** Returns null model and filter in words, for captions of files. */
export function filterNote({ layers }: Run, filter: EdgeFilter): string {
  const label = (column: number) => layerLabel(layers.asRun[column] ?? { block: "", layer: column });
  const shown = { all: "all kept edges", beyond: "edges beyond chance", out: "edges that stand out" }[filter.shown];
  return [
    filter.null_ === "" ? "Width: affinity" : `Null: ${filter.null_}`,
    `roles ${filter.pairs.join(", ") || "none"}`,
    `${shown}, at most ${filter.top} per pair of roles`,
    filter.layers && `layers ${label(filter.layers[0])} to ${label(filter.layers[1])}`,
    filter.minZ !== null && `z \u2265 ${filter.minZ}`,
    filter.maxQ !== null && `q \u2264 ${filter.maxQ}`,
    filter.detector && `heads detected as ${filter.detector.replaceAll("_", " ")}`,
    filter.class_ && `heads of class ${filter.class_}`,
    filter.name && `heads whose name contains ${filter.name}`,
  ]
    .filter(Boolean)
    .join("; ");
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

/** Style of a line. Strength gives the width, standing the rest: opaque, translucent, or a gray hairline for chance. */
export function edgeStyle(edge: Edge, pair: PairStyle, width: number, touched: boolean, theme: Theme, dash: number[]) {
  const shown = {
    out: { stroke: pair.color, dash: pair.dash ?? [], width, opacity: 0.95 },
    beyond: { stroke: pair.color, dash: pair.dash ?? [], width, opacity: 0.5 },
    not: { stroke: theme.faint, dash, width: minWidth, opacity: dash.length > 0 ? 0.6 : 0.35 },
    unknown: { stroke: pair.color, dash: pair.dash ?? [], width, opacity: 0.4 },
  }[edge.standing];
  return { ...shown, opacity: touched ? shown.opacity : shown.opacity / 8 };
}

const standingText: Record<Standing, string> = {
  ...standingLabels,
  out: "strong: stands out",
  beyond: "pale: beyond chance",
  not: "thin gray: not beyond chance",
};

/** Returns the legend of the standings that occur. */
function standingLegend(edges: readonly Edge[], theme: Theme) {
  const line = {
    out: { color: theme.ink, width: 3 },
    beyond: { color: theme.ink, width: 3, opacity: 0.5 },
    not: { color: theme.faint, width: 1.2, dash: chanceDash(edges) },
    unknown: { color: theme.muted, width: 1.4 },
  };
  return [...order]
    .reverse()
    .filter((standing) => edges.some((edge) => edge.standing === standing))
    .map((standing) => ({ ...line[standing], label: standingText[standing], line: true }));
}

/** Returns the legend of a figure with edges: what lines say, their widths, their colors, the colors of heads. */
export function edgeLegend(
  edges: readonly Edge[],
  filter: EdgeFilter,
  lines: readonly LegendEntry[],
  heads: readonly LegendEntry[],
  theme: Theme,
  scale = 1,
): LegendEntry[] {
  const heading = (label: string, entries: readonly LegendEntry[]) =>
    entries.length > 0 ? [{ label, heading: true }, ...entries] : [];
  // Edges that are not beyond chance are gray and have one width.
  const valued = edges.some((edge) => edge.standing !== "not");
  const widths = widthLegend(filter.null_, theme.muted, scale);
  return [
    ...heading("Lines", standingLegend(edges, theme)),
    ...heading(filter.null_ === "" ? "Width: affinity" : "Width: z", valued ? widths : []),
    ...heading("Color of lines", valued ? lines : []),
    ...heading("Color of heads", heads),
  ];
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
  for (const null_ of nulls.filter((one) => edge.z[one] !== undefined)) {
    const p = formatP(edge.p[null_] ?? NaN);
    lines.push({
      label: `${null_} null`,
      value: `z ${formatNumber(edge.z[null_]!)}, p ${p}, q ${formatP(edge.q[null_] ?? NaN)}`,
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
      ...run.nulls.flatMap((n) => [
        e.z[n] ?? NaN,
        floorP(e.q[n] ?? NaN),
        ...(logarithms.includes(n) ? [e.log10p[n] ?? NaN] : []),
      ]),
    ]),
    faint: listed.map((e) => e.standing === "not"),
  };
}
