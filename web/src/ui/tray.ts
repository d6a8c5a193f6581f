import { mappedHeads } from "../data/mapped_heads";
import { mapImage } from "../draw/map_image";
import { headButton, type Context } from "./context";
import { button } from "./controls";
import { el } from "./dom";

/**
 * The pinned heads, at the bottom of every tab, with their maps side by side on request. The style sheet knows its height
 * as --tray, so that it covers neither the end of a tab nor that of the drawer.
 */
export function tray(context: Context): HTMLElement {
  const { run, store } = context;
  const bar = el("div", { class: "tray", role: "region", "aria-label": "Pinned heads" });
  let open = true;
  const fill = () => {
    const { pins } = store.state;
    bar.hidden = pins.length === 0;
    document.documentElement.toggleAttribute("data-tray", pins.length > 0);
    const hasMaps = run.inputs.length > 0;
    const row = el("div", { class: "tray-maps" });
    for (const name of pins) {
      const remove = button("\u00d7", () => store.togglePin(name), { class: "quiet", "aria-label": `Unpin ${name}` });
      const item = el("div", { class: "pinned" }, el("div", { class: "name" }, headButton(store, name), remove));
      row.append(item);
      if (!open || !hasMaps) continue;
      // A KV head shows the map of the first head that uses it.
      const shown = mappedHeads(run, name)[0] ?? name;
      void mapImage(run, shown, 150, store.state).then((image) => {
        if (image) item.append(image, ...(shown === name ? [] : [el("span", { class: "note" }, `map of ${shown}`)]));
      });
    }
    const actions = el("div", { class: "tray-actions" });
    if (hasMaps)
      actions.append(
        button(open ? "Hide maps" : "Show maps", () => ((open = !open), fill()), {
          class: "quiet",
          "aria-expanded": String(open),
        }),
      );
    actions.append(button("Clear", () => store.set({ pins: [] }), { class: "quiet" }));
    bar.replaceChildren(row, actions);
  };
  fill();
  new ResizeObserver(() => document.documentElement.style.setProperty("--tray", `${bar.offsetHeight}px`)).observe(bar);
  store.subscribe((_, changed) => {
    if (["pins", "theme", "input", "query"].some((one) => changed.has(one as "pins"))) fill();
  });
  return bar;
}
