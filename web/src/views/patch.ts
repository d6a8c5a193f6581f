import { cutGroups, standingOfCut, type CutGroup } from "../data/cut_groups";
import { isNegative, strongestCuts } from "../data/cuts";
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

/** Which edges matter, by cutting them. */
export const patch: View = {
  id: "patch",
  title: "Cut edges",
  about:
    "Edges were cut one at a time: a head, an MLP or the unembedding no longer sees what one head writes. The effect is what this changes in the model's output. Random edges between the same layers show the effect to expect by chance.",
  available: (run) => cutGroups(run).length > 0,
  mount(section, context) {
    const groups = cutGroups(context.run);
    const verdict = verdictOf(context, "patch");
    if (verdict) section.append(verdict);
    else if (groups.every(({ effect }) => isNegative(effect)))
      section.append(el("div", { class: "verdict" }, el("p", {}, negative(groups))));
    for (const group of groups) section.append(...shownGroup(context, group));
  },
};

function negative(groups: CutGroup[]): string {
  return groups.every(({ effect }) => effect === "few")
    ? "Too few edges were cut to tell their effects from those of random edges."
    : "No effect beyond that of random edges.";
}

function shownGroup(context: Context, group: CutGroup): HTMLElement[] {
  const effects = new PatchEffects(context, group, measureOf(context.run));
  const figure = new Figure(effects, context.store);
  effects.redraw = () => figure.redraw();
  context.figures.push(figure);
  const compared = group.samples.length > 0 ? [agreement(group)] : [];
  return [figure.element, strongest(context, group), ...compared];
}

/** Table of the chosen edges with the largest effects. */
function strongest({ run, store }: Context, group: CutGroup): HTMLElement {
  const chosen = strongestCuts(group.cuts);
  const shown = chosen.slice(0, maxEdges);
  const between = group.id === "patch";
  const local = between ? " Local: change of the target's output, relative to the stream." : "";
  return tableCard({
    name: `${group.id}-strongest`,
    title: between ? "Largest effects" : "Largest effects on MLPs and the unembedding",
    about: `${shown.length} of ${chosen.length} chosen edges; click one for ${between ? "its evidence" : "its head"}. Effect: ${measureOf(run).change}.${local}`,
    columns: ["edge", "effect", group.score, "z", ...(between ? ["local"] : []), "kind", "in circuit"],
    rows: shown.map((cut) => [
      ...[edgeName(cut), cut.effect, cut.score, cut.z, ...(between ? [cut.local] : []), cut.kind],
      inCircuit(standingOfCut(group, cut)),
    ]),
    digits: 3,
    open: (row) => (between ? store.chooseEdge(edgeOf(shown[row]!)) : store.choose(shown[row]!.source)),
  });
}

const inCircuit = (standing: ReturnType<typeof standingOfCut>) =>
  standing === "in the circuit" ? "yes" : standing === "" ? "no" : `no, ${standing}`;

/** Table of chosen and random edges per pair of roles, and how well weights and screen predict the effects. */
function agreement({ id, score, scoreName, random, samples }: CutGroup): HTMLElement {
  const between = id === "patch";
  const predictors = between ? `${scoreName}, z and local effect` : `${scoreName} and z`;
  return tableCard({
    name: `${id}-agreement`,
    title: between ? "Chosen and random edges" : "Chosen and random edges to MLPs and the unembedding",
    about: `Above: edges with a larger effect than 99 % of ${random} (the level). Areas under the ROC curve say how well ${predictors} find these edges: 0.5 is chance. p: how likely random edges would exceed their controls as clearly.`,
    columns: [
      ...["pair", "kind", "cut", "above", "level", "median", "random", `AUC ${score}`, "AUC z"],
      ...[...(between ? ["AUC local"] : []), "p"],
    ],
    rows: samples.map((one) => [
      ...[one.pair, one.sample, one.chosen, one.above, one.level, one.median, one.medianControl],
      ...[one.aucScore, one.aucZ, ...(between ? [one.aucLocal] : []), one.p],
    ]),
    digits: 2,
  });
}
