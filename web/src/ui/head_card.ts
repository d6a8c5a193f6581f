import { headButton, type Context } from "./context";
import { el } from "./dom";
import { headCuts, headEdges, headFigures, headPictures, headTokens } from "./head_parts";

/** Max number of edges in a list; the head's own page has more. */
const maxEdges = 5;

/** Panel beside the tabs: what matters most of the selected head. */
export function headCard(context: Context, name: string): HTMLElement {
  const card = el("div", { class: "card", "aria-live": "polite" }, el("h2", {}, name));
  const { run } = context;
  if (run.head(name))
    card.append(
      headPictures(context, name, 190),
      headFigures(run, name),
      ...headEdges(context, name, maxEdges, "h3"),
      ...headCuts(context, name, maxEdges, "h3"),
      ...headTokens(run, name, "h3"),
    );
  else card.append(...comparedIn(context, name), ...headCuts(context, name, maxEdges, "h3"));
  return card;
}

/** Lists the compared runs that have this head, for a head that the run itself does not have. */
function comparedIn({ run }: Context, name: string): Node[] {
  const found = (run.doc.comparison?.axes ?? []).filter((one) => one.axis === "head" && one.tree.names?.includes(name));
  if (found.length === 0) return [];
  const names = found.map((one) => el("bdi", { class: "token" }, run.doc.comparison!.runs[one.run]!.name));
  return [el("h3", {}, "In the compared runs"), el("p", { class: "chips" }, ...names)];
}

/** Offers heads: the name of the list, then a button for each. */
export function offerHeads({ store }: Context, title: string, names: readonly string[]): HTMLElement[] {
  if (names.length === 0) return [];
  return [el("p", {}, title), el("p", { class: "chips" }, ...names.map((one) => headButton(store, one)))];
}
