import { el } from "./dom";

/** A line of a tooltip: text, or a label with a value. */
export type TipLine = string | { label: string; value: string; strong?: boolean };

let tip: HTMLElement | null = null;

export function showTip(lines: readonly TipLine[], x: number, y: number): void {
  if (!tip) {
    tip = el("div", { class: "tip", role: "presentation" });
    document.body.append(tip);
  }
  tip.replaceChildren(
    ...lines.map((line, i) =>
      typeof line === "string"
        ? el("div", { class: i === 0 ? "tip-head" : "" }, line)
        : el("div", { class: "tip-row" }, el("span", {}, line.label), el("span", { dir: "auto" }, line.value)),
    ),
  );
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const top = y + 14 + height > innerHeight ? Math.max(4, y - 14 - height) : y + 14;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${top}px)`;
}

export function hideTip(): void {
  if (tip) tip.hidden = true;
}
