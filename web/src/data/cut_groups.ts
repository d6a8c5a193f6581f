import { effectOf, isNegative, readCutSamples, type Cut, type CutSample, type CutScore, type Effect } from "./cuts";
import type { Run } from "./run";

/** Edges with the same kind of ends that were cut, and how the chosen ones compare with random ones. */
export interface CutGroup {
  /** Also the beginning of the names of its figure and tables. */
  id: "patch" | "patch-components";
  /** Where the edges end. */
  ends: string;
  score: CutScore;
  /** The score in words. */
  scoreName: string;
  /** What a random edge is. */
  random: string;
  cuts: Cut[];
  samples: CutSample[];
  /** Number of samples of all groups, by which p is corrected. */
  compared: number;
  effect: Effect;
}

/**
 * Returns the verdict on the edges that were chosen as this one was: by weights, by the screen or by the user for edges
 * between heads, by where they end for the others.
 */
export function effectOfKind({ id, samples, compared }: CutGroup, cut: Cut): Effect {
  const same = samples.filter((one) => (id === "patch" ? one.sample === cut.kind : one.pair === cut.pair));
  return effectOf(same, compared);
}

/**
 * Says where an edge stands that the run has in its circuit. If the verdict on its kind is negative, it is only above
 * the level of random edges. Empty for other edges.
 */
export function standingOfCut(group: CutGroup, cut: Cut): "in the circuit" | "above the level of random edges" | "" {
  if (!cut.inCircuit) return "";
  return isNegative(effectOfKind(group, cut)) ? "above the level of random edges" : "in the circuit";
}

/** Returns the edges between heads that are in the circuit. */
export function circuitCuts(run: Run): Cut[] {
  const group = cutGroups(run).find(({ id }) => id === "patch");
  return group ? group.cuts.filter((cut) => standingOfCut(group, cut) === "in the circuit") : [];
}

/** Returns the groups of edges that were cut: those between heads, and those from heads to MLPs and the unembedding. */
export function cutGroups(run: Run): CutGroup[] {
  const heads = readCutSamples(run.table("patch_agreement"), "pk");
  const components = readCutSamples(run.table("patch_component_agreement"), "overlap");
  const compared = heads.length + components.length;
  const groups: CutGroup[] = [
    {
      id: "patch",
      ends: "another head",
      score: "pk",
      scoreName: "projection kernel",
      random: "random edges between the same layers",
      cuts: run.cuts,
      samples: heads,
      compared,
      effect: effectOf(heads, compared),
    },
    {
      id: "patch-components",
      ends: "an MLP or the unembedding",
      score: "overlap",
      scoreName: "overlap",
      random: "edges from other heads of the same layer",
      cuts: run.componentCuts,
      samples: components,
      compared,
      effect: effectOf(components, compared),
    },
  ];
  return groups.filter(({ cuts }) => cuts.length > 0);
}
