import { storyCircuit, type StoryCircuit } from "../data/circuit";
import { cutGroups, type CutGroup } from "../data/cut_groups";
import { isNegative, type Effect } from "../data/cuts";
import { edgeName, edgeOf } from "../data/edge_key";
import type { Run } from "../data/run";
import { kindName } from "../data/head_facts";
import { measuredOn, measureOf, organizedInput } from "../data/measure";
import { countSentence, wiringStanding } from "../data/significance";
import { plainNumber } from "../draw/axes";
import type { Context, View } from "../ui/context";
import { button } from "../ui/controls";
import { el } from "../ui/dom";
import { Figure } from "../ui/figure";
import { chanceBanner, linkHeads } from "../ui/verdict";
import { readDetectors } from "./detectors";
import { StoryPicture } from "./story_picture";
import { tiles } from "./summary";
import { gainCounts } from "./sparsity";

/** What the run found, for a reader who opens the page for the first time. */
export const story: View = {
  id: "story",
  title: "What this run found",
  about: "",
  available: () => true,
  async mount(section, context) {
    const { run, store } = context;
    const circuit = storyCircuit(run);
    section.append(el("p", { class: "headline" }, ...linkHeads(context, headline(run, circuit))));
    const banner = chanceBanner(run);
    if (banner) section.append(banner);
    section.append(tiles(run));
    if (circuit && wiringStanding(run) === "some") {
      const picture = new StoryPicture(context, circuit);
      const figure = new Figure(picture, store);
      context.figures.push(figure);
      section.append(figure.element, edgeList(context, circuit, picture));
      await picture.load();
      figure.redraw();
    }
    section.append(list("Findings", findings(run), context));
    const said = caveats(run, circuit);
    if (said.length > 0) section.append(list("Caveats", said, context));
    const more = el("a", { href: "#tab=methods&at=summary" }, "All results, command by command");
    more.addEventListener("click", (event) => {
      event.preventDefault();
      store.set({ tab: "methods", at: "summary" });
    });
    section.append(el("p", {}, more));
  },
};

/** Lists the edges of the picture, for windows too narrow for its numbers. */
function edgeList({ store }: Context, { edges }: StoryCircuit, picture: StoryPicture): HTMLElement {
  const items = edges.map((edge) =>
    el(
      "li",
      {},
      button(edgeName(edge), () => store.chooseEdge(edgeOf(edge))),
      ` ${picture.number(edge)}`,
    ),
  );
  return el("ul", { class: "edge-list narrow" }, ...items);
}

function list(title: string, sentences: string[], context: Context): HTMLElement {
  const items = sentences.map((sentence) => el("li", {}, ...linkHeads(context, sentence)));
  return el("div", { class: "story-part" }, el("h3", {}, title), el("ul", { class: "story" }, ...items));
}

/** Effects below this are called slight: 0.01 nats is 1 % of the probability of a token. */
const slight = 0.01;

/** Returns the verdict in one sentence. */
function headline(run: Run, circuit: StoryCircuit | null): string {
  if (run.edges.length === 0) {
    const said = Object.keys(run.doc.manifest.commands).flatMap((name) => run.verdict(name).slice(0, 1));
    return said[0] ?? "This run has no verdict of its own; its data are in the other tabs.";
  }
  const standing = wiringStanding(run);
  if (standing === "none") return "The heads of this model are not wired to each other beyond chance.";
  if (standing === "unknown") return "This run does not say whether its heads are wired beyond chance.";
  if (circuit?.source === "cut") {
    const { source, target, effect } = circuit.edges[0]!;
    const { name, unit } = measureOf(run);
    const change = `${plainNumber(Math.abs(effect))}${unit}`;
    const verb = effect > 0 ? "raises" : "lowers";
    return Math.abs(effect) < slight
      ? `Heads of this model are wired to each other beyond chance, but on the tested inputs no single connection matters much: cutting the strongest, ${source} to ${target}, ${verb} the ${name} by only ${change}.`
      : `Heads of this model pass information to each other: cutting the connection from ${source} to ${target} ${verb} the ${name} on the tested inputs by ${change}.`;
  }
  if (circuit) {
    const { source, target, standing } = circuit.edges[0]!;
    return standing === "out"
      ? `Heads of this model are wired to each other beyond chance, most clearly ${source} to ${target}.`
      : `Heads of this model are wired to each other beyond chance, but no connection stands out from the others. The largest is ${source} to ${target}.`;
  }
  return "Some pairs of heads are wired beyond chance, but none of the role pairs OQ, OK and OV was kept.";
}

/** Returns up to three findings: the wiring, the behavior of heads, and what cuts or pruning showed. */
function findings(run: Run): string[] {
  const found: string[] = [];
  if (run.edges.length > 0) {
    const hubs = run.hubs.filter((hub) => hub.significant === "yes").map((hub) => hub.head);
    const known = wiringStanding(run) === "some" && hubs.length > 0;
    const named = known ? ` Hubs, that is, heads with more wiring than chance gives: ${some(hubs)}.` : "";
    found.push(countSentence(run) + named);
  }
  const behaviors = readDetectors(run).flatMap(({ name, scores }) => {
    const heads = scores.filter((one) => one.detected).sort((a, b) => b.score - a.score);
    return heads.length > 0 ? [`${kindName(name)}: ${some(heads.map((one) => one.head))}`] : [];
  });
  if (behaviors.length > 0) found.push(`Heads by what they attend to: ${behaviors.join("; ")}.`);
  for (const command of ["patch", "prune", "organize", "compare"]) {
    const [said] = run.verdict(command);
    if (said) found.push(said);
  }
  const gains = gainCounts(run);
  if (gains && run.verdict("organize").length === 0)
    found.push(
      `On ${organizedInput(run)}, attention of ${gains.gaining} of ${gains.heads} heads is sparser on its trees than the control.`,
    );
  return found.length > 0 ? found.slice(0, 3) : ["There is no finding beyond the data in the other tabs."];
}

const some = (names: string[]) =>
  names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");

/** Says of the groups of cut edges with a negative verdict what it is. */
export function negativeCaveat(groups: readonly CutGroup[], effect: Effect): string {
  const same = groups.filter((one) => one.effect === effect);
  const which = same.length < groups.length ? ` to ${same[0]!.ends}` : "";
  return effect === "few"
    ? `Too few edges${which} were cut to tell whether they change more than random edges do.`
    : `The edges${which} that were cut do not change more than random edges do.`;
}

/** Returns what the reader should keep in mind. */
function caveats(run: Run, circuit: StoryCircuit | null): string[] {
  const said: string[] = [];
  const groups = cutGroups(run);
  if (run.edges.length > 0 && groups.length === 0)
    said.push("Weights show which heads could pass information, not that they do. No edge was cut in this run.");
  if (circuit)
    said.push(
      circuit.source === "cut"
        ? `The picture shows the ${circuit.edges.length} largest effects of ${circuit.of} in the circuit, so they are the best of many. Random edges between the same layers were the control.`
        : `The picture shows the ${circuit.edges.length} largest of ${circuit.of} edges, so they are the best of many.`,
    );
  const tested = groups.length > 0 ? measuredOn(run) : null;
  if (tested) said.push(`Effects were measured on ${tested}. On other inputs they can be larger or smaller.`);
  if (groups.length > 0 && groups.every(({ effect }) => isNegative(effect)))
    said.push(...[...new Set(groups.map(({ effect }) => effect))].map((effect) => negativeCaveat(groups, effect)));
  const inputs = run.inputs.length;
  if (inputs > 0) said.push(`Attention was seen on ${inputs} ${inputs === 1 ? "input" : "inputs"}; others may differ.`);
  const weights = run.doc.manifest.commands.relate?.identity?.weights;
  if (weights) said.push(`Affinities are of ${weights} weights. Other processing gives other numbers.`);
  return [...said, ...run.doc.notes];
}
