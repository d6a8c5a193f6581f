import type { Run } from "../data/run";
import { countOf, wiringStanding } from "../data/significance";
import { splitQuotes } from "../data/terms";
import { headButton, type Context } from "./context";
import { el } from "./dom";
import { linkTerms } from "./term";

/** Max number of sentences that are shown at once. The others are shown on request. */
const maxSentences = 5;

/** Returns a sentence with its names of heads as buttons and its technical words as terms, except in what it quotes. */
export function linkHeads(context: Context, sentence: string): (string | Node)[] {
  return splitQuotes(sentence).flatMap(({ text, quoted }) => (quoted ? [text] : linkPart(context, text)));
}

function linkPart({ run, store }: Context, part: string): (string | Node)[] {
  return part
    .split(/(\b(?:(?:encoder|decoder|cross)\.)?L\d+(?:H|KV)\d+\b)/)
    .filter((part) => part !== "")
    .flatMap((part) => (run.hasHead(part) ? [headButton(store, part)] : linkTerms(part)));
}

/** Returns the sentences that a command concluded with, the headline first; null if it has none. */
export function verdictOf(context: Context, command: string): HTMLElement | null {
  const [headline, ...rest] = context.run.verdict(command);
  if (headline === undefined) return null;
  const list = (sentences: string[]) =>
    el("ul", {}, ...sentences.map((sentence) => el("li", {}, ...linkHeads(context, sentence))));
  const more = rest.slice(maxSentences);
  return el(
    "div",
    { class: "verdict" },
    el("p", {}, ...linkHeads(context, headline)),
    rest.length > 0 ? list(rest.slice(0, maxSentences)) : null,
    more.length > 0 ? el("details", {}, el("summary", {}, `${more.length} more`), list(more)) : null,
  );
}

/** Returns the conclusions of all commands; null if there are none. */
export function conclusions(context: Context): HTMLElement | null {
  const { run } = context;
  const commands = Object.keys(run.doc.manifest.commands).filter((name) => run.verdict(name).length > 0);
  if (commands.length === 0) return null;
  return el(
    "dl",
    { class: "conclusions", "aria-label": "Conclusions" },
    ...commands.flatMap((name) => [el("dt", {}, name), el("dd", {}, verdictOf(context, name))]),
  );
}

/** Returns a banner if the wiring is not beyond chance, or if the run does not say whether it is; otherwise null. */
export function chanceBanner(run: Run): HTMLElement | null {
  if (run.edges.length === 0) return null;
  const standing = wiringStanding(run);
  if (standing === "some") return null;
  const pairs = countOf(run)?.pairs.toLocaleString("en-US");
  const kept = run.table("wiring") ? "pairs of heads" : "kept edges";
  const [title, text] =
    standing === "none"
      ? [
          "No wiring beyond chance",
          `None of the ${pairs} ${kept} has an affinity beyond what unrelated subspaces have. The faint edges of the other tabs are the largest of many random values; they say nothing about the model.`,
        ]
      : [
          "Significance unknown",
          "This run does not say which of its edges are beyond chance: it was made by an older version, or without the isotropic and matched null models. Run relate again to find out. Nothing in this page is evidence of wiring.",
        ];
  return el("div", { class: `banner ${standing}`, role: "note" }, el("strong", {}, title), el("p", {}, text));
}
