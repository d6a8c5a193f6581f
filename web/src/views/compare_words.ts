import { measureText } from "../draw/canvas";
import { categorical, categoryColor } from "../draw/color";
import { ending } from "./labels";

/** A run's name where there is no room for a long one. */
export const runLabel = (name: string) => ending(name, 28);

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

/** The height of a legend of runs, which wraps where there are many. */
export function legendHeight(names: readonly string[], width: number): number {
  let lines = 1;
  let left = 0;
  for (const name of names) {
    const size = 38 + measureText(runLabel(name), 12);
    if (left > 0 && left + size > width) {
      ++lines;
      left = 0;
    }
    left += size;
  }
  return 18 * lines;
}
