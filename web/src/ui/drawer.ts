import type { Context } from "./context";
import { button } from "./controls";
import { el } from "./dom";
import { edgeEvidence } from "./edge_evidence";
import { headCard } from "./head_card";

/**
 * Panel beside the tabs: the evidence for the selected edge, or else what is known of the selected head. Empty on the
 * head's own page, which says more.
 */
export function drawer(context: Context): HTMLElement {
  const { store } = context;
  const panel = el("aside", { class: "drawer", "aria-label": "Selection" });
  const close = () => store.set({ edge: null, head: null });
  let shown = "";
  let before: HTMLElement | null = null;
  const fill = (again: boolean) => {
    const { edge, pins, tab, at } = store.state;
    const head = tab === "heads" && at === "head" ? null : store.state.head;
    const key = edge ? `${edge.pair} ${edge.source} ${edge.target}` : (head ?? "");
    const focused = document.activeElement;
    if (shown === "" && key !== "") before = focused instanceof HTMLElement ? focused : null;
    // The focus returns to where it was when the drawer opened, unless the reader has moved it elsewhere.
    const returns = key === "" && (panel.contains(focused) || focused === document.body);
    panel.hidden = key === "";
    document.documentElement.toggleAttribute("data-drawer", key !== "");
    if (key === "") panel.replaceChildren();
    if (returns && before?.isConnected) before.focus({ preventScroll: true });
    if (key === "") {
      shown = "";
      return;
    }
    const bar = el("div", { class: "drawer-bar" });
    if (edge) {
      if (store.state.head)
        bar.append(button(`Back to ${store.state.head}`, () => store.set({ edge: null }), { class: "quiet" }));
    } else if (head) {
      bar.append(
        button("Open its page", () => store.set({ tab: "heads", at: "head" }), { class: "quiet" }),
        button(pins.includes(head) ? "Unpin" : "Pin", () => store.togglePin(head), { class: "quiet", id: "pin" }),
      );
    }
    bar.append(button("Close", close, { class: "quiet", id: "close-drawer" }));
    if (key === shown && !again) {
      panel.firstElementChild?.replaceWith(bar);
      return;
    }
    const top = key === shown ? panel.scrollTop : 0;
    shown = key;
    panel.replaceChildren(bar, edge ? edgeEvidence(context, edge) : headCard(context, head!));
    panel.scrollTop = top;
  };
  fill(true);
  store.subscribe((_, changed) => {
    // Pictures depend on the input, the query and the theme.
    const again = ["input", "query", "theme"].some((one) => changed.has(one as "input"));
    if (again || ["edge", "head", "pins", "tab", "at"].some((one) => changed.has(one as "edge"))) fill(again);
  });
  addEventListener("keydown", (event) => {
    // Menus and the box that finds close first.
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (!panel.hidden) close();
  });
  return panel;
}
