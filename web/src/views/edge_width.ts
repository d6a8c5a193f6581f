import type { Edge } from "../data/run";
import type { EdgeFilter } from "../ui/store";

/** Returns z under the chosen null model; the score if none is chosen. Edges of other components have no matched null: span. */
export function strength(edge: Edge, filter: Pick<EdgeFilter, "null_">): number {
  if (filter.null_ === "") return edge.score;
  return edge.z[filter.null_] ?? edge.z.span ?? edge.score;
}

/** Ends of the logarithmic scales. They are fixed, so equal values have equal widths in every page. */
const ends = { z: [3, 100], affinity: [0.1, 10] } as const;
export const minWidth = 0.8;
export const maxWidth = 5;

const scaleOf = (null_: string) => (null_ === "" ? "affinity" : "z");

/** Returns the width of a line, from z 3 (affinity 0.1) or less to z 100 (affinity 10) or more. */
export function edgeWidth(value: number, null_: string): number {
  const [low, high] = ends[scaleOf(null_)];
  const share = Math.log(Math.max(value, low) / low) / Math.log(high / low);
  return minWidth + (maxWidth - minWidth) * (Number.isNaN(share) ? 0 : Math.min(1, share));
}

/**
 * Returns the factor by which all lines of a figure are thinner if its columns are less than 28 pixels apart. The legend
 * has the same factor.
 */
export const lineScale = (spacing: number) => Math.min(1, Math.max(0.3, spacing / 28));

/** Returns the entries of a legend that label three widths, drawn `scale` times as wide. */
export function widthLegend(null_: string, color: string, scale = 1) {
  const name = scaleOf(null_);
  const [low, high] = ends[name];
  const middle = name === "z" ? 20 : 1;
  const text = { [low]: `\u2264 ${low}`, [middle]: String(middle), [high]: `\u2265 ${high}` };
  return [low, middle, high].map((value) => ({
    color,
    label: text[value]!,
    line: true,
    width: edgeWidth(value, null_) * scale,
  }));
}
