import { detectedKinds } from "../data/head_facts";
import { mappedHeads } from "../data/mapped_heads";
import { patchGrid } from "../data/patches";
import { readPruning } from "../data/pruning";
import { treePath } from "../data/tree_path";
import type { Context, View } from "../ui/context";
import { button } from "../ui/controls";
import { el } from "../ui/dom";
import { offerHeads } from "../ui/head_card";
import { headCuts, headEdges, headFigures, headPictures, headTokens } from "../ui/head_parts";
import { inputChooser } from "../ui/input_chooser";

/** Max number of edges in a list. */
const maxEdges = 12;
/** Max number of heads offered when none is selected, and of siblings in a tree. */
const maxHeads = 12;

export const headPage: View = {
  id: "head",
  title: "One head",
  about: "Everything that the run says about the selected head.",
  alone: true,
  available: (run) => run.heads.length > 0,
  mount(section, context) {
    const { run, store } = context;
    const page = el("div", {});
    const fill = () => page.replaceChildren(...contents(context, store.state.head));
    fill();
    store.subscribe((_, changed) => {
      if (["head", "input", "query", "theme"].some((one) => changed.has(one as "head"))) fill();
    });
    if (run.inputs.length > 0) section.append(...inputChooser(context));
    section.append(page);
  },
};

function contents(context: Context, name: string | null): HTMLElement[] {
  const { run, store } = context;
  if (name === null || !run.head(name)) return nothingSelected(context);
  const input = run.inputs[store.state.input];
  const matrix = input && patchGrid(input.first) && mappedHeads(run, name).some((one) => input.partOf(one));
  const pinned = store.state.pins.includes(name);
  const bar = el(
    "p",
    { class: "head-actions" },
    button(pinned ? "Unpin" : "Pin", () => store.togglePin(name), { class: "quiet" }),
    matrix ? button("All queries and keys", () => store.set({ tab: "evidence", at: "maps" }), { class: "quiet" }) : "",
  );
  return [
    el(
      "div",
      { class: "head-page" },
      el("div", {}, el("h3", {}, name), bar, headPictures(context, name, 320), headFigures(run, name)),
      el("div", {}, ...headEdges(context, name, maxEdges, "h4")),
      el(
        "div",
        {},
        ...headTokens(run, name, "h4"),
        ...headCuts(context, name, maxEdges, "h4"),
        ...places(context, name),
      ),
    ),
  ];
}

function nothingSelected(context: Context): HTMLElement[] {
  const { run } = context;
  const hubs = run.hubs.filter((hub) => hub.significant === "yes").map((hub) => hub.head);
  const detected = [...detectedKinds(run)].filter(([, kinds]) => kinds.length > 0).map(([head]) => head);
  return [
    el("p", {}, "Select a head."),
    ...offerHeads(context, "Hubs:", hubs.slice(0, maxHeads)),
    ...offerHeads(context, "Detected heads:", detected.slice(0, maxHeads)),
  ];
}

const treeNames = { communities: "by weights", head: "by maps", consensus: "by maps of all inputs" } as const;

/** Says where the head is in the trees, and when pruning removes it. */
function places(context: Context, name: string): Node[] {
  const { run } = context;
  const parts: Node[] = [];
  for (const [key, label] of Object.entries(treeNames) as [keyof typeof treeNames, string][]) {
    const tree = run.doc.trees?.[key];
    const path = tree ? treePath(tree, name) : null;
    if (!path) continue;
    parts.push(
      el("h4", {}, `Place in the tree ${label}`),
      ...offerHeads(
        context,
        `Sizes of its folders, from all heads to itself: ${path.sizes.join(" \u2192 ")}. Nearest:`,
        path.siblings.slice(0, maxHeads),
      ),
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
