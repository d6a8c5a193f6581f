import type { Head } from "../data/head";
import type { Hub, Run } from "../data/run";
import { categorical, categoryColor } from "../draw/color";
import { formatNumber } from "../draw/axes";
import { button } from "./controls";
import { isolated } from "./dom";
import type { Figure } from "./figure";
import type { Store } from "./store";
import type { TipLine } from "./tooltip";

/** Passed to every view. */
export interface Context {
  run: Run;
  store: Store;
  /** All figures of the page, for printing. */
  figures: Figure[];
}

/** A section of the page. Views without data are left out. */
export interface View {
  id: string;
  title: string;
  /** Explanation under the title. */
  about: string;
  /** Shown by itself, only if the address names it. */
  alone?: boolean;
  available(run: Run): boolean;
  /** Fills the section. Slow parts may be added later, until the promise resolves. */
  mount(section: HTMLElement, context: Context): void | Promise<void>;
}

/** Returns the class names of labeled heads, sorted. */
export function classNames(run: Run): string[] {
  return [...new Set(run.heads.flatMap((head) => head.classes))].sort();
}

export interface PairStyle {
  color: string;
  dash?: number[];
}

/** Returns the line style per pair of roles, circuit pairs first. Beyond the number of colors, lines are dashed. */
export function pairStyles(pairs: readonly string[]): Map<string, PairStyle> {
  const first = ["OQ", "OK", "OV"].filter((pair) => pairs.includes(pair));
  const all = [...first, ...pairs.filter((pair) => !first.includes(pair))];
  const dash = (i: number) => (i < categorical.length ? {} : { dash: [7, 4] });
  return new Map(all.map((pair, i) => [pair, { color: categoryColor(i), ...dash(i) }]));
}

/** Returns a button with the name of a head that chooses the head. */
export function headButton(store: Store, name: string): HTMLButtonElement {
  return button(name, () => store.choose(name), { class: "head", "data-head": name });
}

/** Says whether a head is a hub: "significant hub", "not a significant hub", "significance unknown". */
export function hubText({ significant }: Hub): string {
  if (significant === "unknown") return "significance unknown";
  return significant === "yes" ? "significant hub" : "not a significant hub";
}

/** Returns a short description of a head for a tooltip. */
export function headTip(run: Run, name: string): TipLine[] {
  const head = run.head(name);
  const lines: TipLine[] = [name];
  if (head && head.classes.length > 0) lines.push({ label: "class", value: head.classes.join(", ") });
  const hub = run.hubs.find((one) => one.head === name);
  if (hub && hub.strength > 0)
    lines.push({ label: "sum of z", value: `${formatNumber(hub.strength)}, ${hubText(hub)}` });
  for (const [role, tokens] of run.tokensOf(name)) {
    const beyond = tokens.filter((token) => !(token.q > 0.05)).slice(0, 6);
    const value = beyond.map((token) => isolated(token.text)).join(" ");
    lines.push({ label: `tokens ${role}`, value: value || "none beyond chance" });
  }
  return lines;
}

/**
 * Returns the head that an arrow key moves to on a grid with a column per layer and a row per head; null for other keys.
 * `column`: place of a layer; default: as layers run.
 */
export function stepHead(
  run: Run,
  from: string | null,
  key: string,
  column: (head: Head) => number = (head) => run.layers.column(head),
): string | null {
  const heads = run.heads.filter((head) => !head.kv);
  const at = run.head(from) ?? heads[0];
  if (!at || heads.length === 0) return null;
  if (from === null && key.startsWith("Arrow")) return at.name;
  const moves: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  const move = moves[key];
  if (!move) return null;
  const wanted = column(at) + move[0];
  const index = at.index + move[1];
  return heads.find((head) => column(head) === wanted && head.index === index)?.name ?? at.name;
}
