import { el } from "./dom";

/** Offers a file for download. */
export function saveFile(name: string, blob: Blob): void {
  const link = el("a", { download: name, href: URL.createObjectURL(blob) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Returns the name of a format in the page: "svg-one-column". */
const formatId = (label: string) => label.toLowerCase().replace(/[^a-z]+/g, "-");

/** A button that opens a menu with one entry per format. Arrow keys move, Escape closes. */
export function exportMenu(title: string, entries: Record<string, () => void>): HTMLElement {
  const open = el(
    "button",
    { type: "button", class: "quiet", "aria-haspopup": "menu", "aria-expanded": "false" },
    "Export",
  );
  open.setAttribute("aria-label", `Export: ${title}`);
  const list = el("div", { class: "menu", role: "menu", "aria-label": `Export: ${title}` });
  list.hidden = true;
  const show = (visible: boolean) => {
    list.hidden = !visible;
    open.setAttribute("aria-expanded", String(visible));
    if (visible) list.querySelector<HTMLElement>("button")?.focus();
  };
  for (const [label, act] of Object.entries(entries)) {
    const item = el("button", { type: "button", role: "menuitem", "data-format": formatId(label) }, label);
    item.addEventListener("click", () => {
      show(false);
      open.focus();
      act();
    });
    list.append(item);
  }
  open.addEventListener("click", () => show(list.hidden));
  const menu = el("div", { class: "export" }, open, list);
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      show(false);
      open.focus();
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || list.hidden) return;
    event.preventDefault();
    const items = [...list.querySelectorAll<HTMLElement>("button")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + step + items.length) % items.length]?.focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(event.relatedTarget as Node | null)) show(false);
  });
  return menu;
}
