import { strongestCuts } from "../data/cuts";
import { edgeName } from "../data/edge_key";
import { kindName } from "../data/head_facts";
import { blockName } from "../data/layers";
import { mappedHeads } from "../data/mapped_heads";
import { measureOf } from "../data/measure";
import { readPruning, type PrunedModel } from "../data/pruning";
import type { Edge, Run } from "../data/run";
import { standingLabels } from "../data/significance";
import { formatNumber, plainNumber, signed } from "../draw/axes";
import { mapImage, mapImageNote } from "../draw/map_image";
import { readDetectors } from "../views/detectors";
import { hubText, type Context } from "./context";
import { button } from "./controls";
import { el } from "./dom";
import { inputName } from "./input_options";
import { profile } from "./token_profile";

// What is known of a head, for its page and for the panel beside the tabs.

/** Level of the headings. */
type Level = "h3" | "h4";

/** Shows what the head attends to on the chosen input; of a KV head, what the heads attend to that use it. */
export function headPictures({ run, store }: Context, name: string, size: number): HTMLElement {
  const { input } = store.state;
  const place = el("div", { class: "small-maps" });
  const shown = mappedHeads(run, name);
  const side = shown.length > 1 ? Math.min(size, 150) : size;
  void Promise.all(shown.map((one) => mapImage(run, one, side, store.state))).then((images) => {
    const found = images.filter((image) => image !== null);
    const of = run.inputs[input]?.partOf(shown[0]!);
    if (found.length === 0 || !of) return;
    const users = shown[0] === name ? "" : `Attention of the heads that use ${name}: ${shown.join(", ")}. `;
    place.append(...found, el("p", { class: "note" }, `${users}${inputName(of, input)}. ${mapImageNote(of)}`));
  });
  return place;
}

/** Lists layer, class, hub, detectors and attention. */
export function headFigures(run: Run, name: string): HTMLElement {
  const list = el("dl", {});
  const row = (label: string, value: string) => list.append(el("dt", {}, label), el("dd", {}, value));
  const head = run.head(name)!;
  if (head.block !== "") row("block", blockName(head.block));
  row("layer", `${head.layer} (0 to ${run.layers.countOf(head.block) - 1})`);
  if (head.classes.length > 0) row("class", head.classes.join(", "));
  const hub = run.hubs.find((one) => one.head === name);
  if (hub && hub.strength > 0)
    row(
      "sum of z",
      `${formatNumber(hub.strength)} (${hubText(hub)})${hub.significant === "yes" ? `: ${hub.reason}` : ""}`,
    );
  const table = run.table("detectors");
  const threshold = table?.has("threshold") ? `, threshold ${table.text("threshold", 0)}` : "";
  for (const detector of readDetectors(run)) {
    const one = detector.scores.find((score) => score.head === name);
    if (!one) continue;
    const standing = one.detected ? ", detected" : one.once ? ", at one length only" : "";
    row(kindName(detector.name), `${plainNumber(one.score)}${standing}${threshold}`);
  }
  const entropy = run.inputs[0]?.summaryOf("entropy").get(name);
  if (entropy !== undefined) {
    const where = run.inputs.length > 1 ? ", first input" : "";
    row(`entropy, nats${where}`, formatNumber(entropy));
    row(`on first token${where}`, formatNumber(run.inputs[0]!.summaryOf("first").get(name) ?? NaN));
  }
  const pruned = readPruning(run);
  if (pruned) row("removed by", removedBy(pruned, name));
  return list;
}

/** Lists the criteria that remove the head within the budget, and its rank: "pk (3), greedy (1)". */
function removedBy(pruned: PrunedModel, name: string): string {
  const found = pruned.orders.flatMap((order) => {
    const at = order.heads.findIndex((one) => one.head === name && one.removed);
    return at < 0 ? [] : [`${order.criterion} (${at + 1})`];
  });
  return found.length > 0 ? found.join(", ") : "no criterion";
}

/** Lists the kept edges that end and that begin at the head, those beyond chance first. */
export function headEdges({ run, store }: Context, name: string, max: number, level: Level): Node[] {
  const rank = { out: 0, beyond: 1, unknown: 2, not: 3 };
  const null_ = run.headlineNull ?? "";
  const strength = (edge: Edge) => edge.z[null_] ?? edge.score;
  const list = (title: string, found: Edge[], other: (edge: Edge) => string): Node[] => {
    const sorted = found.sort((a, b) => rank[a.standing] - rank[b.standing] || strength(b) - strength(a));
    const items = sorted.slice(0, max).map((edge) => {
      const { pair, source, target } = edge;
      const label = `${pair} ${other(edge)}`;
      const z = edge.z[null_] === undefined ? "" : ` z ${formatNumber(edge.z[null_])},`;
      const choose = button(label, () => store.chooseEdge({ pair, source, target }), { class: edge.standing });
      return el("li", {}, choose, `${z} ${standingLabels[edge.standing]}`);
    });
    const more = found.length > max ? [el("p", { class: "note" }, `${max} of ${found.length} edges.`)] : [];
    const none = "None among the edges that the run kept, the largest of each pair of roles.";
    const body = items.length > 0 ? el("ul", { class: "edge-list" }, ...items) : el("p", {}, none);
    return [el(level, {}, title), body, ...more];
  };
  if (run.edges.length === 0) return [];
  return [
    ...list(
      "Reads from",
      run.edges.filter((edge) => edge.target === name),
      (edge) => edge.source,
    ),
    ...list(
      "Writes to",
      run.edges.filter((edge) => edge.source === name),
      (edge) => edge.target,
    ),
  ];
}

/** Lists the cut edges of the head, the largest effects first. */
export function headCuts({ run, store }: Context, name: string, max: number, level: Level): Node[] {
  const cuts = [...run.cuts, ...run.componentCuts];
  const found = strongestCuts(cuts.filter((cut) => cut.source === name || cut.target === name));
  if (found.length === 0) return [];
  const items = found.slice(0, max).map(({ pair, source, target, effect }) => {
    const edge = { pair, source, target };
    const label = edgeName(edge);
    return el(
      "li",
      {},
      run.hasHead(target) ? button(label, () => store.chooseEdge(edge)) : label,
      ` ${signed(effect)}`,
    );
  });
  return [el(level, {}, `Cut edges: ${measureOf(run).change}`), el("ul", { class: "edge-list" }, ...items)];
}

/** Lists the tokens closest to what the head reads and writes. */
export function headTokens(run: Run, name: string, level: Level): Node[] {
  return [...run.tokensOf(name)].flatMap(([role, found]) => profile("it", role, found, level));
}
