import type { Context } from "./context";
import { button } from "./controls";
import { el } from "./dom";
import { edgeEvidence } from "./edge_evidence";
import { headCard } from "./head_card";

/** Panel beside the tabs: the evidence for the selected edge, or else what is known of the selected head. */
export function drawer(context: Context): HTMLElement {
  const { store } = context;
  const panel = el("aside", { class: "drawer", "aria-label": "Selection" });
  const card = headCard(context);
  let shown = "";
  const fill = () => {
    const { edge, head, pins } = store.state;
    const key = edge ? `${edge.pair} ${edge.source} ${edge.target}` : (head ?? "");
    panel.hidden = key === "";
    document.documentElement.toggleAttribute("data-drawer", key !== "");
    if (key === "") panel.replaceChildren();
    const close = () => store.set(edge ? { edge: null } : { head: null });
    const bar = el("div", { class: "drawer-bar" });
    if (edge) {
      if (head) bar.append(button(`Back to ${head}`, close, { class: "quiet" }));
    } else if (head) {
      bar.append(
        button("Open its page", () => store.set({ tab: "heads", at: "head" }), { class: "quiet" }),
        button(pins.includes(head) ? "Unpin" : "Pin", () => store.togglePin(head), { class: "quiet", id: "pin" }),
      );
    }
    bar.append(button("Close", () => store.set({ edge: null, head: null }), { class: "quiet", id: "close-drawer" }));
    if (key === shown) {
      panel.firstElementChild?.replaceWith(bar);
      return;
    }
    shown = key;
    if (edge) panel.replaceChildren(bar, edgeEvidence(context, edge));
    else if (head) panel.replaceChildren(bar, card);
    panel.scrollTop = 0;
  };
  fill();
  store.subscribe((_, changed) => {
    if (changed.has("edge") || changed.has("head") || changed.has("pins")) fill();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && panel.contains(document.activeElement)) store.set({ edge: null, head: null });
  });
  return panel;
}
