import { findTerm, splitTerms } from "../data/terms";
import { el } from "./dom";
import { hideTip, showTip } from "./tooltip";

/** Opens the glossary and keeps the rest of the address. */
function openGlossary(): void {
  const values = new URLSearchParams(location.hash.replace(/^#/, ""));
  values.set("tab", "methods");
  values.set("at", "glossary");
  location.hash = values.toString();
}

/**
 * Returns a word with its definition, which is shown while the pointer is on the word or the word has the focus. A
 * click, Enter, or the second tap opens the glossary. Words without a definition are returned as plain text.
 */
export function term(word: string, text = word): HTMLElement {
  const found = findTerm(word);
  if (!found) return el("span", {}, text);
  const label = `${text}: ${found.means}`;
  const element = el("button", { type: "button", class: "term", "aria-label": label }, text);
  let shown = false;
  let shownBefore = true;
  const show = () => {
    const box = element.getBoundingClientRect();
    showTip([found.word, found.means], box.left, box.bottom - 8);
    shown = true;
  };
  const hide = () => {
    hideTip();
    shown = false;
  };
  element.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && show());
  element.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide());
  element.addEventListener("focus", show);
  element.addEventListener("blur", hide);
  element.addEventListener("pointerdown", () => (shownBefore = shown));
  element.addEventListener("click", () => {
    const opens = shownBefore;
    shownBefore = true;
    if (!opens) return;
    hide();
    openGlossary();
  });
  return element;
}

/** Returns a sentence in which the first occurrence of each known word is a term. */
export function linkTerms(sentence: string): (string | HTMLElement)[] {
  return splitTerms(sentence).map((part) => (part.term ? term(part.term.word, part.text) : part.text));
}
