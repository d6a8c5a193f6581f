import { find, type Found } from "../data/find";
import type { Context } from "./context";
import { el, uniqueId } from "./dom";

/** A box that finds heads, edges, classes, tokens and layers. `/` opens it; arrow keys and Enter choose. */
export function commandBox(context: Context): { element: HTMLElement; open: () => void } {
  const list = el("ul", { id: uniqueId("found"), role: "listbox", "aria-label": "Found" });
  const input = el("input", {
    type: "text",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": list.id,
    "aria-label": "Find heads, edges, classes, tokens, layers",
    placeholder: "L4H7, L4H7>L5H1, induction, a token, layer 5",
    autocomplete: "off",
    spellcheck: "false",
  });
  const element = el("dialog", { class: "find", "aria-label": "Find" }, input, list);
  let found: Found[] = [];
  let at = 0;
  const close = () => element.close();
  const choose = (one: Found | undefined) => {
    if (!one) return;
    close();
    context.store.set(one.state);
  };
  const mark = () => {
    [...list.children].forEach((item, i) => {
      item.setAttribute("aria-selected", String(i === at));
      if (i === at) item.scrollIntoView({ block: "nearest" });
    });
    input.setAttribute("aria-activedescendant", list.children[at]?.id ?? "");
  };
  const fill = () => {
    found = find(context.run, input.value, context.store.state);
    at = 0;
    const empty =
      input.value.trim() === "" ? [] : [el("li", { role: "option", "aria-disabled": "true" }, "Nothing found.")];
    const items = found.map((one) => {
      const item = el(
        "li",
        { role: "option", id: uniqueId("option") },
        el("span", {}, one.label),
        el("span", { class: "kind" }, one.kind),
      );
      item.addEventListener("click", () => choose(one));
      return item;
    });
    list.replaceChildren(...(items.length > 0 ? items : empty));
    mark();
  };
  input.addEventListener("input", fill);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      at = Math.min(found.length - 1, Math.max(0, at + step));
      mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(found[at]);
    }
  });
  element.addEventListener("click", (event) => event.target === element && close());
  const open = () => {
    if (element.open) return;
    input.value = "";
    element.showModal();
    fill();
    input.focus();
  };
  addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    open();
  });
  return { element, open };
}
