import type { Run } from "../data/run";
import type { View } from "../ui/context";
import { Figure } from "../ui/figure";
import { HeadValuesFigure, type HeadValues } from "./head_values";

const notScores = ["layer", "index"];

function scores(run: Run): HeadValues[] {
  const table = run.table("detectors");
  if (!table) return [];
  return table
    .numericColumns()
    .filter((column) => !notScores.includes(column) && !column.includes("threshold"))
    .map((column) => ({
      label: column.replaceAll("_", " "),
      values: new Map(
        Array.from(
          { length: table.rows },
          (_, row) => [table.text("head", row), table.number(column, row)] as const,
        ).filter(([, value]) => Number.isFinite(value)),
      ),
      ends: [0, 1],
    }));
}

/** Returns a sentence with the thresholds in the table. */
function thresholds(run: Run): string {
  const table = run.table("detectors");
  const found = (table?.columns ?? []).filter((column) => column.includes("threshold"));
  const values = found.map((column) => `${column.replaceAll("_", " ")} ${table!.text(column, 0)}`);
  return values.length > 0 ? ` A head is of a kind if its score reaches the ${values.join(", ")}.` : "";
}

export const detectors: View = {
  id: "detectors",
  title: "Detectors",
  about:
    "Behavior of heads, scored from their attention: the mean weight on the tokens that a head of this kind attends to, from 0 to 1.",
  available: (run) => scores(run).length > 0,
  mount(section, context) {
    const about = section.querySelector(".about");
    if (about) about.textContent += thresholds(context.run);
    const all = scores(context.run);
    const figure = new Figure(
      new HeadValuesFigure("detectors", "Behavior per head", context, () => all, "mean attention"),
      context.store,
    );
    context.figures.push(figure);
    section.append(figure.element);
  },
};
