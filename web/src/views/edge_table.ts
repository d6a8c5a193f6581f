import { edgeName, edgeOf, isEdge } from "../data/edge_key";
import { formatP, standingLabels } from "../data/significance";
import type { Context, View } from "../ui/context";
import { el } from "../ui/dom";
import { tableCard } from "../ui/table_card";
import { wantedHeads, filterEdges } from "./edges";

/** The edges of the wiring as a table: those that the filters of the wiring let through. */
export const edgeTable: View = {
  id: "edge-table",
  title: "Table of edges",
  about: "The edges that the wiring shows, the strongest first. Click an edge for its evidence.",
  available: (run) => run.edges.length > 0,
  mount(section, context) {
    const { store } = context;
    const place = el("div", {});
    const fill = () => place.replaceChildren(table(context));
    fill();
    store.subscribe((_, changed) => changed.has("filter") && fill());
    section.append(place);
  },
};

function table({ run, store }: Context): HTMLElement {
  // The wiring draws the strongest edges last, above the others.
  const edges = filterEdges(run, run.edges, store.state.filter, wantedHeads(run, store.state.filter)).reverse();
  const null_ = run.headlineNull ?? "";
  const effects = run.cuts.filter((cut) => Number.isFinite(cut.effect));
  const effectOf = (key: (typeof edges)[0]) => effects.find((cut) => isEdge(cut, key))?.effect ?? null;
  return tableCard({
    name: "edges-shown",
    title: `${edges.length} edges`,
    about: null_ === "" ? "" : `z and p: under the ${null_} null.`,
    columns: ["edge", "standing", "affinity", "rank", "z", "p", ...(effects.length > 0 ? ["effect when cut"] : [])],
    rows: edges.map((edge) => [
      edgeName(edge),
      standingLabels[edge.standing],
      edge.score,
      edge.rank,
      edge.z[null_] ?? null,
      formatP(edge.p[null_] ?? NaN),
      ...(effects.length > 0 ? [effectOf(edge)] : []),
    ]),
    faint: edges.map((edge) => edge.standing === "not"),
    open: (row) => store.chooseEdge(edgeOf(edges[row]!)),
  });
}
