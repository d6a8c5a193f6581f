import { measureText } from "../draw/canvas";
import { categorical, categoryColor } from "../draw/color";
import { truncateStart } from "./labels";

/** Returns the name of a run, truncated to fit into a legend. */
export const runLabel = (name: string) => truncateStart(name, 28);

/** Returns the line style of a run. Lines are dashed when there are more runs than colors. */
export function runStyle(run: number): { color: string; dash?: number[] } {
  const color = categoryColor(run);
  return run < categorical.length ? { color } : { color, dash: [7, 4] };
}

/** Labels of features; other features are shown by name. */
export const featureLabels: Record<string, string> = {
  l1: "l1 norm / l2 norm",
  needed_99: "share for 99% energy",
  gain: "gain over shuffled",
  alpha: "alpha",
};

/** Returns the height of a legend of runs, with wrapped lines. */
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
