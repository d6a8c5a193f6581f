import { effectOf, readCutSamples, strongestCuts, type CutSample } from "../data/cuts";
import { edgeName, edgeOf } from "../data/edge_key";
import { measureOf } from "../data/measure";
import type { Context, View } from "../ui/context";
import { el } from "../ui/dom";
import { Figure } from "../ui/figure";
import { tableCard } from "../ui/table_card";
import { verdictOf } from "../ui/verdict";
import { PatchEffects } from "./patch_effects";

/** Max number of rows in the table of the strongest edges. */
const maxEdges = 12;

/** Which edges between heads matter, by cutting them. */
export const patch: View = {
  id: "patch",
  title: "Cut edges",
  about:
    "Edges between heads were cut one at a time: one head no longer sees what the other one writes. The effect is what this changes in the model's output. Random edges between the same layers show the effect to expect by chance.",
  available: (run) => run.cuts.length > 0,
  mount(section, context) {
    const { run, store } = context;
    const samples = readCutSamples(run.table("patch_agreement"));
    const verdict = verdictOf(context, "patch");
    if (verdict) section.append(verdict);
    else if (effectOf(samples) === "none")
      section.append(el("div", { class: "verdict" }, el("p", {}, "No effect beyond that of random edges.")));
    const effects = new PatchEffects(context, run.cuts, samples, measureOf(run));
    const figure = new Figure(effects, store);
    effects.redraw = () => figure.redraw();
    context.figures.push(figure);
    section.append(figure.element, strongest(context));
    if (samples.length > 0) section.append(agreement(samples));
  },
};

/** Table of the chosen edges with the largest effects. */
function strongest({ run, store }: Context): HTMLElement {
  const chosen = strongestCuts(run.cuts);
  const shown = chosen.slice(0, maxEdges);
  return tableCard({
    name: "patch-strongest",
    title: "Largest effects",
    about: `${shown.length} of ${chosen.length} chosen edges; click one for its evidence. Effect: ${measureOf(run).change}. Local: change of the target's output, relative to the stream.`,
    columns: ["edge", "effect", "pk", "z", "local", "kind", "in circuit"],
    rows: shown.map((cut) => [
      ...[edgeName(cut), cut.effect, cut.pk, cut.z, cut.local, cut.kind],
      cut.inCircuit ? "yes" : "no",
    ]),
    digits: 3,
    open: (row) => store.chooseEdge(edgeOf(shown[row]!)),
  });
}

/** Table of chosen and random edges per pair of roles, and how well weights and screen predict the effects. */
function agreement(samples: CutSample[]): HTMLElement {
  return tableCard({
    name: "patch-agreement",
    title: "Chosen and random edges",
    about:
      "Above: edges with a larger effect than 99 % of the random edges (the level). Areas under the ROC curve say how well projection kernel, z and local effect find these edges: 0.5 is chance. p: how likely random edges would exceed their controls as clearly.",
    columns: ["pair", "kind", "cut", "above", "level", "median", "random", "AUC pk", "AUC z", "AUC local", "p"],
    rows: samples.map((one) => [
      ...[one.pair, one.sample, one.chosen, one.above, one.level, one.median, one.medianControl],
      ...[one.aucPk, one.aucZ, one.aucLocal, one.p],
    ]),
    digits: 2,
  });
}
