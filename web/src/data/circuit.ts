import { circuitCuts } from "./cut_groups";
import { strongestCuts } from "./cuts";
import { isEdge, type EdgeKey } from "./edge_key";
import type { Run } from "./run";
import type { Standing } from "./significance";

/** An edge of the story's picture. `effect` is NaN if it was not cut. */
export interface StoryEdge extends EdgeKey {
  standing: Standing;
  z: number;
  effect: number;
}

/** What the picture of the story shows. */
export interface StoryCircuit {
  /** "cut": edges that change the output when they are cut. "weights": the edges that weights alone support. */
  source: "cut" | "weights";
  edges: StoryEdge[];
  /** Number of edges to choose from. */
  of: number;
}

/** Max number of edges in the picture. */
const most = 8;

/**
 * Returns the strongest supported circuit: the edges of the circuit of patch with the largest effects, except those of
 * a kind that changes no more than random edges; without them, the edges that stand out, or else those beyond chance,
 * with the largest z. Null if nothing is supported.
 */
export function storyCircuit(run: Run): StoryCircuit | null {
  const cut = strongestCuts(circuitCuts(run));
  const unique = cut.filter((one, i) => cut.findIndex((other) => isEdge(one, other)) === i);
  if (unique.length > 0) {
    const edges = unique.slice(0, most).map(({ pair, source, target, z, effect }) => {
      const known = run.edges.find((edge) => isEdge(edge, { pair, source, target }));
      return { pair, source, target, z, effect, standing: known?.standing ?? ("unknown" as const) };
    });
    return { source: "cut", edges, of: unique.length };
  }
  const null_ = run.headlineNull ?? "";
  const circuit = run.edges.filter((edge) => ["OQ", "OK", "OV"].includes(edge.pair));
  const out = circuit.filter((edge) => edge.standing === "out");
  const chosen = out.length > 0 ? out : circuit.filter((edge) => edge.standing === "beyond");
  if (chosen.length === 0) return null;
  const z = (edge: (typeof chosen)[number]) => edge.z[null_] ?? edge.score;
  const edges = [...chosen]
    .sort((a, b) => z(b) - z(a))
    .slice(0, most)
    .map((edge) => ({ ...edge, z: z(edge), effect: run.cuts.find((one) => isEdge(one, edge))?.effect ?? NaN }));
  return { source: "weights", edges, of: chosen.length };
}
