import { readPruning } from "../data/pruning";
import type { Head } from "../data/head";
import { detectedKinds } from "../data/head_facts";
import { blockName } from "../data/layers";
import type { Run } from "../data/run";
import { mean } from "../data/stats";
import { classColor, viridis } from "../draw/color";
import { classNames } from "../ui/context";
import type { Option } from "../ui/controls";
import type { Theme } from "../ui/theme";

/** Colors of heads: by class, by what detectors found, by block, by layer, or by a number. */
export interface NodeColors {
  color(head: string, theme: Theme): string;
  /** Colors of several heads with their shares: classes, largest first; of layers and numbers one color, the mean. */
  mix(heads: readonly string[], theme: Theme): { color: string; share: number }[];
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
  const [input] = run.inputs;
  const where = run.inputs.length > 1 ? ", first input" : "";
  input?.summaryOf("entropy").forEach((value, head) => add(`attention entropy, nats${where}`, head, value));
  input?.summaryOf("first").forEach((value, head) => add(`attention on first token${where}`, head, value));
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

/** Layers of several blocks are colored in the order in which they run. */
const layerColor = (run: Run) => (run.layers.named ? "order of layers" : "layer");

export function colorOptions(run: Run): Option[] {
  const options: Option[] = [];
  if (classNames(run).length > 0) options.push({ value: "class", label: "class" });
  if ([...detectedKinds(run).values()].some((kinds) => kinds.length > 0))
    options.push({ value: "detected", label: "detected as" });
  if (run.layers.named) options.push({ value: "block", label: "block" });
  options.push({ value: layerColor(run), label: layerColor(run) });
  for (const label of headNumbers(run).keys()) options.push({ value: label, label });
  return options;
}

export function nodeColors(run: Run, by: string): NodeColors {
  if (by === "class" || by === "detected" || by === "block") {
    const detected = detectedKinds(run);
    const kinds = (head: Head | undefined) => {
      if (by === "class") return head?.classes;
      if (by === "block") return head ? [blockName(head.block)] : undefined;
      return detected.get(head?.name ?? "")?.map((name) => name.replaceAll("_", " "));
    };
    // A combination has its own color. Otherwise the legend could list a class that no head is colored by.
    const kind = (head: Head | undefined) => [...(kinds(head) ?? [])].sort().join(" + ");
    const found = [...new Set(run.heads.map(kind))].filter(Boolean);
    const names = by === "block" ? found : found.sort();
    const color = (head: string, theme: Theme) => {
      const at = names.indexOf(kind(run.head(head)));
      return at < 0 ? theme.blank : classColor(at);
    };
    return {
      color,
      mix: (heads, theme) => {
        const counts = new Map<string, number>();
        for (const head of heads) {
          const one = color(head, theme);
          counts.set(one, (counts.get(one) ?? 0) + 1);
        }
        return [...counts]
          .sort((a, b) => b[1] - a[1])
          .map(([one, count]) => ({ color: one, share: count / heads.length }));
      },
      legend: names.map((label, i) => ({ color: classColor(i), label })),
    };
  }
  if (by === layerColor(run)) {
    const last = Math.max(1, run.layers.count - 1);
    const share = (name: string) => {
      const head = run.head(name);
      return head ? run.layers.column(head) / last : 0;
    };
    return {
      color: (head) => viridis(share(head)),
      mix: (heads) => [{ color: viridis(mean(heads.map(share))), share: 1 }],
      legend: [],
      ends: [0, last],
    };
  }
  const values = headNumbers(run).get(by) ?? new Map<string, number>();
  const low = Math.min(0, ...values.values());
  const high = Math.max(low + 1e-9, ...values.values());
  return {
    color: (head, theme) => {
      const value = values.get(head);
      return value === undefined ? theme.blank : viridis((value - low) / (high - low));
    },
    mix: (heads, theme) => {
      const known = heads.map((head) => values.get(head)).filter((value) => value !== undefined);
      const color = known.length === 0 ? theme.blank : viridis((mean(known) - low) / (high - low));
      return [{ color, share: 1 }];
    },
    legend: [],
    ends: [low, high],
  };
}
