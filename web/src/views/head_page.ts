import { detectedKinds } from "../data/head_facts";
import { strongestCuts } from "../data/cuts";
import { mappedHeads } from "../data/mapped_heads";
import { readPruning } from "../data/pruning";
import type { Edge, Run } from "../data/run";
import { standingLabels } from "../data/significance";
import { treePath } from "../data/tree_path";
import { formatNumber, signed } from "../draw/axes";
import { mapImage, mapImageNote } from "../draw/map_image";
import { headButton, hubText, type Context, type View } from "../ui/context";
import { button, select } from "../ui/controls";
import { el } from "../ui/dom";
import { inputOptions } from "../ui/input_options";
import { profile } from "../ui/token_profile";
import { readDetectors } from "./detectors";

/** Max number of edges in a list. */
const maxEdges = 12;
/** Max number of heads offered when none is selected, and of siblings in a tree. */
const maxHeads = 12;

export const headPage: View = {
  id: "head",
  title: "Head",
  about: "Everything that the run says about the selected head.",
  available: (run) => run.heads.length > 0,
  mount(section, context) {
    const { store } = context;
    const page = el("div", {});
    const fill = () => page.replaceChildren(contents(context, store.state.head));
    fill();
    store.subscribe((_, changed) => {
      if (changed.has("head") || changed.has("input") || changed.has("theme")) fill();
    });
    section.append(page);
  },
};

function contents(context: Context, name: string | null): HTMLElement {
  if (name === null || !context.run.head(name)) return nothingSelected(context);
  return el(
    "div",
    { class: "head-page" },
    el("div", {}, el("h3", {}, name), map(context, name), ...facts(context.run, name)),
    el("div", {}, ...edges(context, name)),
    el("div", {}, ...tokens(context.run, name), ...cuts(context, name), ...places(context, name)),
  );
}

/** Offers hubs and detected heads. */
function nothingSelected({ run, store }: Context): HTMLElement {
  const list = (title: string, names: string[]) =>
    names.length === 0
      ? []
      : [
          el("p", {}, title),
          el("p", { class: "chips" }, ...names.slice(0, maxHeads).map((one) => headButton(store, one))),
        ];
  const hubs = run.hubs.filter((hub) => hub.significant === "yes").map((hub) => hub.head);
  const detected = [...detectedKinds(run)].filter(([, kinds]) => kinds.length > 0).map(([head]) => head);
  return el("div", {}, el("p", {}, "Select a head."), ...list("Hubs:", hubs), ...list("Detected heads:", detected));
}

/** Shows the map of the head, or those of the heads that use a KV head. */
function map({ run, store }: Context, name: string): HTMLElement {
  const { input, theme } = store.state;
  const place = el("div", {});
  const options = inputOptions(run);
  const chooser = select("Input", options, String(input), (value) => store.set({ input: Number(value) }));
  const shown = mappedHeads(run, name);
  const size = shown.length > 1 ? 150 : 320;
  void Promise.all(shown.map((one) => mapImage(run, input, one, size, theme))).then((images) => {
    const found = images.filter((image) => image !== null);
    if (found.length === 0) place.append(el("p", { class: "note" }, "This run has no attention map of the head."));
    else place.append(...found, el("p", { class: "note" }, `${captionOf(name, shown)} ${mapImageNote}`));
  });
  return el("div", {}, options.length > 1 ? el("div", { class: "controls" }, chooser.element) : null, place);
}
const captionOf = (name: string, shown: string[]) =>
  shown[0] === name ? "Attention after softmax." : `Attention of the heads that use ${name}: ${shown.join(", ")}.`;

function facts(run: Run, name: string): Node[] {
  const head = run.head(name)!;
  const list = el("dl", {});
  const row = (label: string, value: string) => list.append(el("dt", {}, label), el("dd", {}, value));
  row("layer", `${head.layer} (0 to ${run.layers - 1})`);
  if (head.classes.length > 0) row("class", head.classes.join(", "));
  const hub = run.hubs.find((one) => one.head === name);
  if (hub && hub.strength > 0) row("sum of z", `${formatNumber(hub.strength)} (${hubText(hub)})`);
  const table = run.table("detectors");
  const threshold = table?.has("threshold") ? `, threshold ${table.text("threshold", 0)}` : "";
  for (const detector of readDetectors(run)) {
    const one = detector.scores.find((score) => score.head === name);
    if (!one) continue;
    const standing = one.detected ? ", detected" : one.once ? ", at one length only" : "";
    row(detector.name.replaceAll("_", " "), `${formatNumber(one.score)}${standing}${threshold}`);
  }
  return [list];
}

/** Lists the edges that end and that begin at the head. */
function edges(context: Context, name: string): Node[] {
  const { run, store } = context;
  const list = (title: string, found: Edge[], other: (edge: Edge) => string): Node[] => {
    const rank = { out: 0, beyond: 1, unknown: 2, not: 3 };
    const null_ = run.headlineNull ?? "";
    const strength = (edge: Edge) => edge.z[null_] ?? edge.score;
    const sorted = found.sort((a, b) => rank[a.standing] - rank[b.standing] || strength(b) - strength(a));
    const items = sorted.slice(0, maxEdges).map((edge) => {
      const { pair, source, target } = edge;
      const label = `${pair} ${other(edge)}`;
      const z = edge.z[null_] === undefined ? "" : ` z ${formatNumber(edge.z[null_])},`;
      const choose = button(label, () => store.chooseEdge({ pair, source, target }), { class: edge.standing });
      return el("li", {}, choose, `${z} ${standingLabels[edge.standing]}`);
    });
    const more = found.length > maxEdges ? [el("p", { class: "note" }, `${maxEdges} of ${found.length} edges.`)] : [];
    const body = items.length > 0 ? el("ul", { class: "edge-list" }, ...items) : el("p", {}, "No kept edges.");
    return [el("h4", {}, title), body, ...more];
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

function tokens(run: Run, name: string): Node[] {
  return [...run.tokensOf(name)].flatMap(([role, found]) => profile(role, found, "h4"));
}

/** Lists the cut edges of the head, the largest effects first. */
function cuts({ run, store }: Context, name: string): Node[] {
  const found = strongestCuts(run.cuts.filter((cut) => cut.source === name || cut.target === name));
  if (found.length === 0) return [];
  const items = found.slice(0, maxEdges).map(({ pair, source, target, effect }) => {
    const choose = button(`${pair} ${source} \u2192 ${target}`, () => store.chooseEdge({ pair, source, target }));
    return el("li", {}, choose, ` ${signed(effect)}`);
  });
  return [el("h4", {}, "Effect when an edge is cut"), el("ul", { class: "edge-list" }, ...items)];
}

const treeNames = { communities: "by weights", head: "by maps", consensus: "by maps of all inputs" } as const;

/** Says where the head is in the trees, and when pruning removes it. */
function places({ run, store }: Context, name: string): Node[] {
  const parts: Node[] = [];
  for (const [key, label] of Object.entries(treeNames) as [keyof typeof treeNames, string][]) {
    const tree = run.doc.trees?.[key];
    const path = tree ? treePath(tree, name) : null;
    if (!path) continue;
    parts.push(
      el("h4", {}, `Place in the tree ${label}`),
      el("p", {}, `Folders of ${path.sizes.join(" \u2192 ")} heads. Nearest:`),
      el("p", { class: "chips" }, ...path.siblings.slice(0, maxHeads).map((one) => headButton(store, one))),
    );
  }
  const ranks = (readPruning(run)?.orders ?? []).flatMap(({ criterion, heads }) => {
    const at = heads.findIndex((one) => one.head === name);
    return at < 0
      ? []
      : [el("dt", {}, criterion), el("dd", {}, `${at + 1} of ${heads.length}${heads[at]!.removed ? ", removed" : ""}`)];
  });
  if (ranks.length > 0) parts.push(el("h4", {}, "Order of removal by pruning"), el("dl", {}, ...ranks));
  return parts;
}
