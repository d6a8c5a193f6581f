import { strongestCuts } from "../data/cuts";
import { readPruning, type PrunedModel } from "../data/pruning";
import type { ProfileToken } from "../data/run";
import { formatP, type Standing } from "../data/significance";
import { formatNumber, signed } from "../draw/axes";
import { headButton, hubText, type Context } from "./context";
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
  if (name !== null && !head && run.hasHead(name))
    return [el("h2", {}, name), ...comparedIn(context, name), ...cutEdges(context, name)];
  if (!head || name === null) {
    const hubs = run.hubs.filter((hub) => hub.significant === "yes").slice(0, 5);
    const hint = el("p", {}, "Select a head in any figure to highlight it in all figures.");
    if (hubs.length === 0) return [hint];
    return [
      hint,
      el("p", {}, "Significant hubs:"),
      el("p", { class: "chips" }, ...hubs.map((hub) => headButton(store, hub.head))),
    ];
  }
  const parts: Node[] = [el("h2", {}, name)];
  const list = el("dl", {});
  const row = (label: string, value: string | Node) => list.append(el("dt", {}, label), el("dd", {}, value));
  row("layer", `${head.layer} (0 to ${run.layers - 1})`);
  if (head.classes.length > 0) row("class", head.classes.join(", "));
  const hub = run.hubs.find((one) => one.head === name);
  if (hub && hub.strength > 0)
    row(
      "sum of z",
      `${formatNumber(hub.strength)} (${hubText(hub)})${hub.significant === "yes" ? `: ${hub.reason}` : ""}`,
    );
  for (const [label, value] of figuresOf(context, name)) row(label, formatNumber(value));
  const pruned = readPruning(run);
  if (pruned) row("removed by", removedBy(pruned, name));
  parts.push(list);
  parts.push(...connections(context, name), ...cutEdges(context, name));
  for (const [role, tokens] of run.tokensOf(name)) parts.push(...profile(role, tokens));
  return parts;
}

/** Lists the heads at the other ends of the edges, those beyond chance apart from the others. */
function connections({ run, store }: Context, name: string): Node[] {
  const titles: [string, Standing[]][] = [
    ["Connected beyond chance to", ["out", "beyond"]],
    ["Closest heads, significance unknown", ["unknown"]],
    ["Not beyond chance", ["not"]],
  ];
  const edges = run.edges.filter((edge) => edge.source === name || edge.target === name);
  return titles.flatMap(([title, standings]) => {
    const found = edges.filter((edge) => standings.includes(edge.standing));
    const others = [...new Set(found.map((edge) => (edge.source === name ? edge.target : edge.source)))].slice(0, 8);
    const faint = standings.includes("not") ? " faint" : "";
    return others.length === 0
      ? []
      : [el("h3", {}, title), el("p", { class: `chips${faint}` }, ...others.map((one) => headButton(store, one)))];
  });
}

/** Lists the chosen edges of the head that were cut, the largest effects first. */
function cutEdges({ run, store }: Context, name: string): Node[] {
  const cuts = strongestCuts(run.cuts.filter((cut) => cut.source === name || cut.target === name)).slice(0, 5);
  if (cuts.length === 0) return [];
  const list = el("dl", {});
  for (const { pair, source, target, effect } of cuts) {
    const [direction, other] = source === name ? ["to", target] : ["from", source];
    list.append(el("dt", {}, `${pair} ${direction} `, headButton(store, other)), el("dd", {}, signed(effect)));
  }
  return [el("h3", {}, "Effect of cutting edges"), list];
}

/** Lists the tokens closest to a subspace. Those that are not beyond chance are faint. */
function profile(role: string, tokens: readonly ProfileToken[]): Node[] {
  const known = tokens.some((token) => !Number.isNaN(token.q));
  const chips = tokens.slice(0, 10).map((token) => {
    const faint = token.q > 0.05;
    const title = known ? { title: `q ${formatP(token.q)}${faint ? ", not beyond chance" : ""}` } : {};
    return el("bdi", { class: faint ? "token faint" : "token", ...title }, visibleToken(token.text));
  });
  const none = known && tokens.every((token) => token.q > 0.05);
  return [
    el("h3", {}, `Tokens closest to ${role}${none ? " (none beyond chance)" : ""}`),
    el("p", { class: "chips" }, ...chips),
  ];
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
  const found = (run.doc.comparison?.axes ?? []).filter((one) => one.axis === "head" && one.tree.names?.includes(name));
  if (found.length === 0) return [];
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
      if (!/^(layer|index|threshold)$|_sd$/.test(column))
        found.push([column.replace("_second", ", 2nd length"), detectors.number(column, row)]);
  }
  const input = run.doc.inputs?.[0];
  const at = input?.tokens.heads.indexOf(name) ?? -1;
  if (input?.summary && at >= 0) {
    found.push(["entropy, nats", input.summary.entropy[at] ?? NaN]);
    found.push(["on first token", input.summary.first[at] ?? NaN]);
  }
  return found;
}
