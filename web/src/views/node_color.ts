import { readPruning } from "../data/pruning";
import type { Head } from "../data/head";
import type { Run } from "../data/run";
import { classColor, viridis } from "../draw/color";
import { classNames } from "../ui/context";
import type { Option } from "../ui/controls";
import type { Theme } from "../ui/theme";

/** Colors of heads: by class, by layer, or by a number. */
export interface NodeColors {
  color(head: string, theme: Theme): string;
  legend: { color: string; label: string }[];
  /** Ends of the color scale, for layers and numbers. */
  ends?: [number, number];
}

/** Returns all numbers per head that the tables contain, by label. */
export function headNumbers(run: Run): Map<string, Map<string, number>> {
  const numbers = new Map<string, Map<string, number>>();
  const add = (label: string, head: string, value: number) => {
    if (!Number.isFinite(value)) return;
    if (!numbers.has(label)) numbers.set(label, new Map());
    numbers.get(label)!.set(head, value);
  };
  for (const hub of run.hubs) add("sum of z", hub.head, hub.strength);
  const input = run.doc.inputs?.[0];
  input?.tokens.heads.forEach((head, i) => {
    if (!input.summary) return;
    add("attention entropy, nats", head, input.summary.entropy[i] ?? NaN);
    add("attention on first token", head, input.summary.first[i] ?? NaN);
  });
  for (const name of ["detectors", "attention", "sparsity"]) {
    const table = run.table(name);
    for (const column of table?.numericColumns() ?? []) {
      if (["layer", "index", "heads"].includes(column) || /threshold|_shuffled|control|_low$|_high$|_sd$/.test(column))
        continue;
      for (let row = 0; row < table!.rows; ++row)
        add(
          `${name}: ${column.replaceAll("_", " ")}`,
          table!.text(table!.has("head") ? "head" : "name", row),
          table!.number(column, row),
        );
    }
  }
  for (const order of readPruning(run)?.orders ?? [])
    order.heads.forEach((one, i) => add(`removal order by ${order.criterion}`, one.head, i + 1));
  return numbers;
}

export function colorOptions(run: Run): Option[] {
  const options: Option[] = [];
  if (classNames(run).length > 0) options.push({ value: "class", label: "class" });
  options.push({ value: "layer", label: "layer" });
  for (const label of headNumbers(run).keys()) options.push({ value: label, label });
  return options;
}

export function nodeColors(run: Run, by: string): NodeColors {
  if (by === "class") {
    // A combination of classes has its own color. Otherwise the legend could list a class that no head is colored by.
    const kind = (head: Head | undefined) => [...(head?.classes ?? [])].sort().join(" + ");
    const names = [...new Set(run.heads.map(kind))].filter(Boolean).sort();
    return {
      color: (head, theme) => {
        const at = names.indexOf(kind(run.head(head)));
        return at < 0 ? theme.blank : classColor(at);
      },
      legend: names.map((label, i) => ({ color: classColor(i), label })),
    };
  }
  if (by === "layer") {
    const last = Math.max(1, run.layers - 1);
    return { color: (head) => viridis((run.head(head)?.layer ?? 0) / last), legend: [], ends: [0, last] };
  }
  const values = headNumbers(run).get(by) ?? new Map<string, number>();
  const low = Math.min(0, ...values.values());
  const high = Math.max(low + 1e-9, ...values.values());
  return {
    color: (head, theme) => {
      const value = values.get(head);
      return value === undefined ? theme.blank : viridis((value - low) / (high - low));
    },
    legend: [],
    ends: [low, high],
  };
}
