import { cutGroups, standingOfCut } from "../data/cut_groups";
import { isEdge, type EdgeKey } from "../data/edge_key";
import { mappedHeads } from "../data/mapped_heads";
import { measuredOn, measureOf } from "../data/measure";
import type { Edge, Run } from "../data/run";
import { formatP, standingLabels } from "../data/significance";
import { formatNumber, plainNumber } from "../draw/axes";
import { mapImage, mapImageNote } from "../draw/map_image";
import { EdgeHistogram } from "../views/edge_histogram";
import { headButton, type Context } from "./context";
import { el } from "./dom";
import { Figure } from "./figure";
import { inputName } from "./input_options";
import { profile } from "./token_profile";

const roleNames: Record<string, string> = { O: "writes", Q: "reads as query", K: "reads as key", V: "reads as value" };

/** Everything the run knows about one edge: maps of both heads, tokens of both ends, affinity and nulls, the cut. */
export function edgeEvidence(context: Context, key: EdgeKey): HTMLElement {
  const { run, store } = context;
  const edge = run.edges.find((one) => isEdge(one, key));
  const box = el("div", { class: "edge-evidence" });
  box.append(
    el("h2", {}, headButton(store, key.source), " \u2192 ", headButton(store, key.target)),
    el("p", { class: "about" }, meaning(key)),
    el("p", { class: "standing" }, edge ? `${capital(standingLabels[edge.standing])}.` : "Not among the kept edges."),
    part("maps", "Attention of both heads on the same input", maps(context, key)),
    part("tokens", "Tokens closest to both ends", tokens(run, key)),
    part("null", "Affinity against chance", affinity(context, key, edge)),
    part("cut", "Effect of cutting the edge", effect(run, key)),
  );
  return box;
}

function part(kind: string, title: string, content: Node[]): HTMLElement {
  return el("div", { class: "evidence", "data-evidence": kind }, el("h3", {}, title), ...content);
}

function meaning({ pair, source, target }: EdgeKey): string {
  const [from, to] = [pair.slice(0, 1), pair.slice(1)];
  return `${pair}: what ${source} ${roleNames[from] ?? from}, and what ${target} ${roleNames[to] ?? to}.`;
}

function maps({ run, store }: Context, { source, target }: EdgeKey): Node[] {
  const input = run.inputs[store.state.input];
  if (!input) return [missing("This run has no attention maps. headscope capture adds them.")];
  const names = [source, ...mappedHeads(run, target).slice(0, 3)].filter((name) => input.partOf(name));
  if (names.length === 0) return [missing("There are no maps of these heads.")];
  const row = el("div", { class: "small-maps" });
  for (const name of names) {
    const figure = el("div", { class: "small-map" }, el("span", {}, name));
    row.append(figure);
    void mapImage(run, name, 150, store.state).then((image) => {
      if (image) figure.prepend(image);
    });
  }
  const about = `${inputName(input.first, store.state.input)}. ${mapImageNote(input.first)}`;
  return [row, el("p", { class: "note" }, about)];
}

function tokens(run: Run, { pair, source, target }: EdgeKey): Node[] {
  const ends = [
    { head: source, role: pair.slice(0, 1) },
    { head: target, role: pair.slice(1) },
  ];
  const found = ends.flatMap(({ head, role }) => {
    const list = run.tokensOf(head).get(role);
    return list ? profile(head, role, list, "h4") : [];
  });
  return found.length > 0 ? found : [missing("The run has no token profiles of these ends (relate --tokens-for all).")];
}

function affinity(context: Context, { pair }: EdgeKey, edge: Edge | undefined): Node[] {
  const { run, store } = context;
  if (!edge) return [missing("The edge is not in edges.csv: relate keeps the largest ones (--top).")];
  const nodes: Node[] = [];
  const packed = (run.doc.affinities ?? []).find((one) => one.pair === pair && one.histogram);
  if (packed?.histogram) {
    const spec = new EdgeHistogram(edge, packed.histogram, packed.metric);
    nodes.push(new Figure(spec, store).element);
  }
  const rows = run.nulls.map((null_) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, null_),
      ...[formatNumber(edge.z[null_]!), formatP(edge.p[null_]!), formatP(edge.q[null_]!)].map((text) =>
        el("td", { class: "number" }, text),
      ),
    ),
  );
  const head = ["null", "z", "p", "q"].map((text, i) =>
    el("th", { scope: "col", ...(i > 0 ? { class: "number" } : {}) }, text),
  );
  nodes.push(
    el("p", {}, `Affinity ${formatNumber(edge.score)}, number ${edge.rank} of all ${pair} pairs.`),
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
  );
  return nodes;
}

function effect(run: Run, key: EdgeKey): Node[] {
  const cut = run.cuts.find((one) => isEdge(one, key) && Number.isFinite(one.effect));
  if (!cut) {
    const known = run.cuts.length > 0;
    return [missing(known ? "This edge was not cut." : "No edge was cut. headscope patch measures what cuts change.")];
  }
  const { name, unit } = measureOf(run);
  const size = plainNumber(Math.abs(cut.effect)) + unit;
  const change =
    cut.effect === 0 ? `no change of the ${name}` : `${cut.effect > 0 ? "raises" : "lowers"} the ${name} by `;
  const group = cutGroups(run).find(({ id }) => id === "patch");
  const level = group?.samples.find((one) => one.pair === key.pair)?.level ?? NaN;
  const random =
    level > 0 ? ` Of random edges between the same layers, 99 % change it by less than ${plainNumber(level)}.` : "";
  const inputs = measuredOn(run);
  const kind: Record<string, string> = {
    top: "chosen by its weights",
    screen: "chosen by the screen",
    given: "given by the user",
    control: "a random edge, for comparison",
  };
  const standing = group ? standingOfCut(group, cut) : "";
  const where = standing === "" ? "It is not in the circuit." : `It is ${standing}.`;
  return [
    el("p", { class: "effect" }, `Cutting it ${change}`, cut.effect === 0 ? "." : el("strong", {}, size)),
    el("p", {}, `${capital(kind[cut.kind] ?? cut.kind)}. ${where}${random}`),
    ...(inputs ? [el("p", { class: "note" }, `Measured on ${inputs}.`)] : []),
  ];
}

const missing = (text: string) => el("p", { class: "note" }, text);
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
