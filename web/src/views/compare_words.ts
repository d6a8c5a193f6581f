import { categorical, categoryColor } from "../draw/color";

/** Lines of runs: broken once the colors have been used up. */
export function runStyle(run: number): { color: string; dash?: number[] } {
  const color = categoryColor(run);
  return run < categorical.length ? { color } : { color, dash: [7, 4] };
}

/** What figures of a run are. */
export const figureWords: Record<string, string> = {
  l1: "l1 norm over l2",
  needed_99: "share for 99 % energy",
  gain: "gain over shuffled",
  alpha: "alpha",
};
