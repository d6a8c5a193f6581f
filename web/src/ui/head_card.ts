import { readPruning, type PrunedModel } from "../data/pruning";
import { formatNumber } from "../draw/axes";
import { headButton, type Context } from "./context";
import { el, visibleToken } from "./dom";

/** Panel next to the sections with all data on the chosen head. */
export function headCard(context: Context): HTMLElement {
  const { store } = context;
  const card = el("aside", { class: "card", "aria-label": "Selected head", "aria-live": "polite" });
  const fill = () => card.replaceChildren(...contents(context, store.state.head));
  fill();
  store.subscribe((_, changed) => changed.has("head") && fill());
  return card;
}

function contents(context: Context, name: string | null): Node[] {
  const { run, store } = context;
  const head = run.head(name);
  if (name !== null && !head && run.hasHead(name)) return [el("h2", {}, name), ...comparedIn(context, name)];
  if (!head || name === null) {
    const hubs = run.hubs.filter((hub) => hub.strength > 0).slice(0, 5);
    const hint = el("p", {}, "Select a head in any figure to highlight it in all figures.");
    if (hubs.length === 0) return [hint];
    return [
      hint,
      el("p", {}, "Most connected heads:"),
      el("p", { class: "chips" }, ...hubs.map((hub) => headButton(store, hub.head))),
    ];
  }
  const parts: Node[] = [el("h2", {}, name)];
  const list = el("dl", {});
  const row = (label: string, value: string | Node) => list.append(el("dt", {}, label), el("dd", {}, value));
  row("layer", `${head.layer} (0 to ${run.layers - 1})`);
  if (head.classes.length > 0) row("class", head.classes.join(", "));
  const hub = run.hubs.find((one) => one.head === name);
  if (hub && hub.strength > 0) row("hub", `rank ${hub.rank}: ${hub.reason}`);
  for (const [label, value] of figuresOf(context, name)) row(label, formatNumber(value));
  const pruned = readPruning(run);
  if (pruned) row("removed by", removedBy(pruned, name));
  parts.push(list);
  const edges = run.edges.filter((edge) => edge.source === name || edge.target === name);
  if (edges.length > 0) {
    const others = [...new Set(edges.map((edge) => (edge.source === name ? edge.target : edge.source)))].slice(0, 8);
    parts.push(
      el("h3", {}, "Connected to"),
      el("p", { class: "chips" }, ...others.map((one) => headButton(store, one))),
    );
  }
  for (const [role, tokens] of run.tokensOf(name)) {
    const chips = tokens.slice(0, 10).map((token) => el("bdi", { class: "token" }, visibleToken(token)));
    parts.push(el("h3", {}, `Tokens closest to ${role}`), el("p", { class: "chips" }, ...chips));
  }
  return parts;
}

/** Lists the criteria that remove the head within the budget, and its rank: "pk (3), greedy (1)". */
function removedBy(pruned: PrunedModel, name: string): string {
  const found = pruned.orders.flatMap((order) => {
    const at = order.heads.findIndex((one) => one.head === name && one.removed);
    return at < 0 ? [] : [`${order.criterion} (${at + 1})`];
  });
  return found.length > 0 ? found.join(", ") : "no criterion";
}

/** Lists the compared runs that have this head, for a head that the run itself does not have. */
function comparedIn({ run }: Context, name: string): Node[] {
  const found = run.doc.comparison!.axes.filter((one) => one.axis === "head" && one.tree.names?.includes(name));
  const names = found.map((one) => el("bdi", { class: "token" }, run.doc.comparison!.runs[one.run]!.name));
  return [el("h3", {}, "In the compared runs"), el("p", { class: "chips" }, ...names)];
}

/** Returns the numbers of a head: detector scores, and statistics of its attention. */
function figuresOf(context: Context, name: string): [string, number][] {
  const { run } = context;
  const found: [string, number][] = [];
  const detectors = run.table("detectors");
  for (let row = 0; detectors && row < detectors.rows; ++row) {
    if (detectors.text("head", row) !== name) continue;
    for (const column of detectors.numericColumns())
      if (!["layer", "index", "threshold"].includes(column)) found.push([column, detectors.number(column, row)]);
  }
  const input = run.doc.inputs?.[0];
  const at = input?.tokens.heads.indexOf(name) ?? -1;
  if (input?.summary && at >= 0) {
    found.push(["entropy, nats", input.summary.entropy[at] ?? NaN]);
    found.push(["on first token", input.summary.first[at] ?? NaN]);
  }
  return found;
}
