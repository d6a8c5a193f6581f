import { formatNumber } from "../draw/axes";
import type { Run } from "../data/run";
import { headButton, type Context, type View } from "../ui/context";
import { el } from "../ui/dom";

type Part = string | Node;

/** Summary of the run in words and numbers. */
export const overview: View = {
  id: "overview",
  title: "Overview",
  about: "What this run analyzed, and its main results.",
  available: () => true,
  mount(section, context) {
    const commands = Object.entries(context.run.doc.manifest.commands);
    section.append(tiles(context.run));
    if (commands.length > 0)
      section.append(
        el(
          "p",
          { class: "analyses" },
          `Analyses: ${commands.map(([name]) => name).join(", ")}${weights(context.run)}.`,
        ),
      );
    const story = el("ul", { class: "story" });
    for (const parts of [
      wiring(context),
      hubs(context),
      informative(context),
      detected(context),
      attention(context),
      organized(context),
      pruned(context),
      compared(context),
    ]) {
      for (const sentence of parts) story.append(el("li", {}, ...sentence));
    }
    section.append(story);
    for (const note of context.run.doc.notes) section.append(el("p", { class: "note" }, note));
  },
};

/** Returns how the weights were processed, if an analysis states it. */
function weights(run: Run): string {
  const processing = Object.values(run.doc.manifest.commands)
    .map((command) => command.identity?.weights)
    .find((one) => one);
  return processing ? `; ${processing} weights` : "";
}

function tiles(run: Run): HTMLElement {
  const query = run.heads.filter((head) => !head.kv);
  const entries: [string, string][] = [];
  if (run.heads.length > 0) {
    entries.push(["layers", String(run.layers)], ["heads", String(query.length)]);
    const kv = run.heads.length - query.length;
    if (kv > 0) entries.push(["KV heads", String(kv)]);
  }
  if (run.edges.length > 0) entries.push(["edges kept", String(run.edges.length)]);
  const input = run.doc.inputs?.[0];
  if (input) entries.push([input.tokens.kind === "image" ? "patches" : "tokens", String(input.tokens.tokens.length)]);
  if ((run.doc.inputs?.length ?? 0) > 1) entries.push(["inputs", String(run.doc.inputs!.length)]);
  if (run.doc.prune) entries.push(["heads removed", String(run.doc.prune.removed)]);
  if (run.doc.comparison) entries.push(["runs compared", String(run.doc.comparison.runs.length)]);
  return el(
    "dl",
    { class: "tiles" },
    ...entries.map(([label, value]) => el("div", {}, el("dt", {}, label), el("dd", {}, value))),
  );
}

/** Returns a sentence on the strongest edge of each circuit pair (OQ, OK, OV). */
function wiring({ run, store }: Context): Part[][] {
  const null_ = run.nulls[0];
  const best = run.edges.filter((edge) => edge.rank === 1 && ["OQ", "OK", "OV"].includes(edge.pair));
  const roles: Record<string, string> = { OQ: "query", OK: "key", OV: "value" };
  return best.map((edge) => {
    const z = null_ ? edge.z[null_] : undefined;
    return [
      `${edge.pair}: the output subspace of `,
      headButton(store, edge.source),
      ` is closest to the ${roles[edge.pair]} subspace of `,
      headButton(store, edge.target),
      `: affinity ${formatNumber(edge.score)}` +
        (z === undefined
          ? "."
          : `, ${formatNumber(Math.abs(z))} standard deviations ${z < 0 ? "below" : "above"} the ${null_} null.`),
    ];
  });
}

function hubs({ run, store }: Context): Part[][] {
  const hub = run.hubs[0];
  if (!hub || !(hub.strength > 0)) return [];
  return [["The most connected head is ", headButton(store, hub.head), `: ${hub.reason}.`]];
}

function informative({ run }: Context): Part[][] {
  const table = run.table("informativeness");
  if (!table || table.rows < 2) return [];
  const rows = Array.from({ length: table.rows }, (_, row) => row).sort(
    (a, b) => table.number("kl", b) - table.number("kl", a),
  );
  const name = (row: number) => `${table.text("pair", row)} (${formatNumber(table.number("kl", row))} nats)`;
  return [
    [
      `Of ${table.rows} pairs of roles, ${name(rows[0]!)} differs most from random subspaces and ` +
        `${name(rows.at(-1)!)} least.`,
    ],
  ];
}

const notScores = ["layer", "index", "threshold"];

function detected({ run, store }: Context): Part[][] {
  const table = run.table("detectors");
  if (!table) return [];
  const stated = table.number("threshold", 0);
  const threshold = Number.isNaN(stated) ? 0.4 : stated;
  const sentences: Part[][] = [];
  for (const column of table.numericColumns()) {
    if (notScores.includes(column) || column.endsWith("threshold")) continue;
    const rows = Array.from({ length: table.rows }, (_, row) => row)
      .filter((row) => table.number(column, row) >= threshold)
      .sort((a, b) => table.number(column, b) - table.number(column, a));
    if (rows.length === 0) continue;
    const parts: Part[] = [`${capital(column)} heads by behavior: `];
    rows.slice(0, 5).forEach((row, i) => {
      if (i > 0) parts.push(", ");
      parts.push(headButton(store, table.text("head", row)), ` (${formatNumber(table.number(column, row), 2)})`);
    });
    parts.push(rows.length > 5 ? ` and ${rows.length - 5} more at or above ${threshold}.` : ".");
    sentences.push(parts);
  }
  return sentences;
}

function attention({ run, store }: Context): Part[][] {
  const input = run.doc.inputs?.[0];
  if (!input?.summary) return [];
  const { entropy } = input.summary;
  const order = entropy.map((_, i) => i).sort((a, b) => entropy[a]! - entropy[b]!);
  const narrowest = order[0]!;
  const widest = order.at(-1)!;
  const name = (i: number) => headButton(store, input.tokens.heads[i]!);
  return [
    [
      "Attention is most concentrated in ",
      name(narrowest),
      ` (entropy ${formatNumber(entropy[narrowest]!, 2)} nats per query) and least concentrated in `,
      name(widest),
      ` (${formatNumber(entropy[widest]!, 2)}).`,
    ],
  ];
}

function organized({ run }: Context): Part[][] {
  const tree = run.doc.trees?.head;
  if (!tree) return [];
  const level = tree.levels[1];
  return [
    [
      `The attention maps organize ${tree.n} heads into a tree of ${tree.levels.length} levels` +
        (level && level.length < tree.n ? ` with ${level.length} folders at the top.` : "."),
    ],
  ];
}

function pruned({ run }: Context): Part[][] {
  const result = run.doc.prune;
  return result ? [[`Pruned to ${result.heads - result.removed} of ${result.heads} heads: ${result.said}`]] : [];
}

/** Max number of pairs in the overview. The comparison section has the others. */
const maxPairs = 6;

function compared({ run }: Context): Part[][] {
  const found = run.doc.comparison;
  return (found?.pairs ?? []).slice(0, maxPairs).map(({ a, b, verdict }) => {
    const name = (at: number) => el("bdi", {}, found!.runs[at]!.name);
    return ["Compared: ", name(a), " and ", name(b), `: ${verdict}.`];
  });
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1).replaceAll("_", " ");
