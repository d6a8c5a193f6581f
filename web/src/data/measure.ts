import type { Run } from "./run";

const fileName = (path: string) => path.split(/[\\/]/).at(-1)!;

/** What patch measured: its name, what follows a number of it, and the label of a change. */
export interface Measure {
  name: string;
  unit: string;
  change: string;
}

export function measureOf(run: Run): Measure {
  const logits = run.doc.manifest.commands.patch?.identity?.metric === "logit-diff";
  return logits
    ? { name: "logit difference", unit: "", change: "change of the logit difference" }
    : { name: "loss", unit: " nats", change: "change of the loss, nats" };
}

/** Number of inputs that organize used. */
export const organizedInputs = (run: Run) => run.table("inputs")?.rows ?? 1;

/** Names the input of the trees and of sparsity.csv: "the first input", "input 2"; "one input" if there is no other. */
export function organizedInput(run: Run): string {
  const number = run.mainPart("organize")?.number ?? 0;
  if (number > 0) return `input ${number}`;
  return Math.max(organizedInputs(run), run.inputs.length) > 1 ? "the first input" : "one input";
}

/** Names the input of which the page has summaries of attention: "the first input", or "the input" if it is the only one. */
export const firstInput = (run: Run) => (run.inputs.length > 1 ? "the first input" : "the input");

/** Names the inputs on which patch measured its effects: "the token ids in repeated.npy"; null if the run does not. */
export function measuredOn(run: Run): string | null {
  const given = run.doc.manifest.commands.patch?.identity ?? {};
  const kinds = [
    ["ids", "the token ids in"],
    ["text_file", "the text in"],
    ["image", "the images in"],
    ["pixels", "the images in"],
  ] as const;
  if (/^\d[\d, ]*$/.test(given.ids ?? "")) return "the token ids that were given";
  for (const [key, words] of kinds) {
    const files = (given[key] ?? "").split(",").filter(Boolean).map(fileName);
    if (files.length > 0) return `${words} ${files[0]}${files.length > 1 ? ` and ${files.length - 1} more` : ""}`;
  }
  if (!given.text) return null;
  return `the text \u201c${given.text.length > 60 ? `${given.text.slice(0, 59)}\u2026` : given.text}\u201d`;
}
