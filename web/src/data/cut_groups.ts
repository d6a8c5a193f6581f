import { effectOf, readCutSamples, type Cut, type CutSample, type CutScore, type Effect } from "./cuts";
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
  effect: Effect;
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
      effect: effectOf(components, compared),
    },
  ];
  return groups.filter(({ cuts }) => cuts.length > 0);
}
