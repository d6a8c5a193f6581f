import type { Input } from "../data/doc";
import type { Run } from "../data/run";
import { truncateEnd } from "../views/labels";
import type { Option } from "./controls";

/** Returns a short name of an input: "0: the first words", "1: cat.jpg". */
export function inputName(input: Input, i: number): string {
  const { tokens, kind } = input.tokens;
  if (kind === "image") return `${i}: ${input.file ?? "image"}`;
  // Some tokenizers include spaces in their tokens, others do not.
  const spaced = tokens.some((token) => /^\s|\s$/.test(token.text));
  const words = tokens.slice(0, 8).map((token) => token.text);
  return `${i}: ${truncateEnd(words.join(spaced ? "" : " "), 32).replace(/[\s,.:;]+\u2026$/, "\u2026")}`;
}

/** Returns the inputs of a run as options of a chooser. */
export function inputOptions(run: Run): Option[] {
  return run.inputs.map((input, i) => ({ value: String(i), label: inputName(input.first, i) }));
}
