import type { Input } from "../data/doc";
import { isCross } from "../data/inputs";
import { blockName } from "../data/layers";
import type { Edge, Run } from "../data/run";
import { firstInput, organizedInput } from "../data/measure";
import { countOf, standingLabels, wiringStanding } from "../data/significance";
import { formatNumber } from "../draw/axes";
import { headButton, type Context, type View } from "../ui/context";
import { el } from "../ui/dom";
import { chanceBanner, conclusions } from "../ui/verdict";
import { readDetectors } from "./detectors";
import { klText, readInformativeness } from "./informativeness";
import { gainCounts } from "./sparsity";

type Part = string | Node;

/** All results of the run in words and numbers. */
export const summary: View = {
  id: "summary",
  title: "All results",
  about: "What this run analyzed, and what each command concluded.",
  available: () => true,
  mount(section, context) {
    const commands = Object.entries(context.run.doc.manifest.commands);
    for (const part of [chanceBanner(context.run), conclusions(context)]) if (part) section.append(part);
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

/** The sizes of a run and its main counts. */
export function tiles(run: Run): HTMLElement {
  const query = run.heads.filter((head) => !head.kv);
  const entries: [string, string][] = [];
  if (run.heads.length > 0) {
    entries.push(...layerTiles(run), ["heads", query.length.toLocaleString("en-US")]);
    const kv = run.heads.length - query.length;
    if (kv > 0) entries.push(["KV heads", String(kv)]);
  }
  if (run.edges.length > 0) {
    const count = countOf(run);
    const of = count ? `of ${count.pairs.toLocaleString("en-US")} ${run.table("wiring") ? "pairs" : "kept edges"}` : "";
    if (count) entries.push([`${of} beyond chance`, count.beyond.toLocaleString("en-US")]);
    if (count && count.beyond > 0) entries.push(["stand out", count.out.toLocaleString("en-US")]);
    if (!count) entries.push(["edges kept, significance unknown", String(run.edges.length)]);
  }
  entries.push(...inputTiles(run));
  if (run.doc.prune) entries.push(["heads removed by pruning", String(run.doc.prune.removed)]);
  if (run.doc.comparison) entries.push(["runs compared", String(run.doc.comparison.runs.length)]);
  return el(
    "dl",
    { class: "tiles" },
    ...entries.map(([label, value]) => el("div", {}, el("dt", {}, label), el("dd", {}, value))),
  );
}

/** Layers, per block if there are several. */
function layerTiles({ layers }: Run): [string, string][] {
  if (!layers.named) return [["layers", String(layers.count)]];
  return layers.blocks.map((block) => [`${blockName(block)} layers`, String(layers.countOf(block))]);
}

/** Tokens or patches of the first input, and the number of inputs. */
function inputTiles({ inputs }: Run): [string, string][] {
  const [input] = inputs;
  if (!input) return [];
  const many = inputs.length > 1 ? " in the first input" : "";
  const tokens = ({ patches, tokens }: Input): [string, string] =>
    patches !== undefined ? ["patches", String(patches)] : [`tokens${many}`, String(tokens.tokens.length)];
  const sizes = input.parts
    .filter((part) => !isCross(part))
    .map((part): [string, string] => {
      const [label, size] = tokens(part);
      const { block } = part.tokens;
      return [block === undefined ? label : `${block === "encoder" ? "source" : "target"} ${label}`, size];
    });
  return [...sizes, ...(inputs.length > 1 ? [["inputs", String(inputs.length)] as [string, string]] : [])];
}

/** Returns a sentence on the closest heads of each circuit pair (OQ, OK, OV), if they are beyond chance. */
function wiring({ run, store }: Context): Part[][] {
  if (run.verdict("relate").length > 0) return [];
  const best = run.edges.filter((edge) => edge.rank === 1 && ["OQ", "OK", "OV"].includes(edge.pair));
  const roles: Record<string, string> = { OQ: "query", OK: "key", OV: "value" };
  return best
    .filter((edge) => edge.standing !== "not")
    .map((edge) => [
      `${edge.pair}: ${ofPairs(run, edge.pair)}the output subspace of `,
      headButton(store, edge.source),
      ` and the ${roles[edge.pair]} subspace of `,
      headButton(store, edge.target),
      ` have the largest affinity: ${formatNumber(edge.score)}${headlineZ(run, edge)}; ${standingLabels[edge.standing]}.`,
    ]);
}

/** Returns how many pairs of heads there are: "of 120 pairs of heads, ". */
function ofPairs(run: Run, pair: string): string {
  const count = run.table("wiring") ? countOf(run, pair) : null;
  return count ? `of ${count.pairs.toLocaleString("en-US")} pairs of heads, ` : "";
}

/** Returns z of an edge that is beyond chance, and the null that it refers to. */
function headlineZ(run: Run, edge: Edge): string {
  const null_ = run.headlineNull;
  const z = null_ && edge.standing !== "unknown" ? edge.z[null_] : undefined;
  return z === undefined || Number.isNaN(z) ? "" : `, z ${formatNumber(z)} under the ${null_} null`;
}

/** Names significant hubs only, and none without wiring beyond chance. */
function hubs({ run, store }: Context): Part[][] {
  const found = run.hubs.filter((hub) => hub.significant === "yes");
  if (run.verdict("relate").length > 0 || wiringStanding(run) !== "some" || run.hubs.length === 0) return [];
  if (found.length === 0) return [[`None of ${run.hubs.length} heads is a significant hub.`]];
  return [
    [
      `${found.length} of ${run.hubs.length} heads ${found.length === 1 ? "is a significant hub" : "are significant hubs"}: `,
      ...found.slice(0, 5).flatMap((hub, i): Part[] => [i > 0 ? ", " : "", headButton(store, hub.head)]),
      `${found.length > 5 ? ` and ${found.length - 5} more` : ""}. ${found[0]!.head} ${found[0]!.reason}.`,
    ],
  ];
}

/** Max number of pairs of roles in the sentence on informativeness. */
const maxRoles = 4;

function informative({ run }: Context): Part[][] {
  const rows = readInformativeness(run);
  if (rows.length === 0) return [];
  const circuit = rows.filter((row) => ["OQ", "OK", "OV"].includes(row.pair));
  const shown = (circuit.length > 0 ? circuit : rows).slice(0, maxRoles);
  const texts = shown.map((row) => `${row.pair} ${klText(row)}`);
  return [[`Divergence of affinities from those of random subspaces: ${texts.join(", ")}.`]];
}

function detected({ run, store }: Context): Part[][] {
  if (run.verdict("detect").length > 0) return [];
  return readDetectors(run).flatMap(({ name, scores }) => {
    const found = scores.filter((one) => one.detected).sort((a, b) => b.score - a.score);
    if (found.length === 0) return [];
    const parts: Part[] = [`${capital(name)} heads by behavior: `];
    found.slice(0, 5).forEach((one, i) => {
      if (i > 0) parts.push(", ");
      parts.push(headButton(store, one.head), ` (${formatNumber(one.score, 2)})`);
    });
    parts.push(found.length > 5 ? ` and ${found.length - 5} more.` : ".");
    return [parts];
  });
}

function attention({ run, store }: Context): Part[][] {
  const entropy = [...(run.inputs[0]?.summaryOf("entropy") ?? [])].sort((a, b) => a[1] - b[1]);
  const [narrowest, widest] = [entropy[0], entropy.at(-1)];
  if (!narrowest || !widest) return [];
  return [
    [
      `Of ${entropy.length} heads, attention on ${firstInput(run)} is most concentrated in `,
      headButton(store, narrowest[0]),
      ` (entropy ${formatNumber(narrowest[1], 2)} nats per query) and least concentrated in `,
      headButton(store, widest[0]),
      ` (${formatNumber(widest[1], 2)}).`,
    ],
  ];
}

function organized({ run }: Context): Part[][] {
  const tree = run.doc.trees?.head;
  if (!tree) return [];
  const gains = gainCounts(run);
  const control = gains
    ? `: attention of ${gains.gaining} of ${gains.heads} heads is sparser on the trees than the control`
    : "; whether the trees make attention sparser than chance is unknown";
  return [
    [
      `The attention maps of ${organizedInput(run)} organize ${tree.n} heads into a tree of ${tree.levels.length} levels${control}.`,
    ],
  ];
}

function pruned({ run }: Context): Part[][] {
  const result = run.doc.prune;
  if (!result) return [];
  const said = run.verdict("prune").length > 0 ? "." : `: ${result.said}`;
  return [[`Pruned to ${result.heads - result.removed} of ${result.heads} heads${said}`]];
}

/** Max number of pairs in the summary. The comparison section has the others. */
const maxPairs = 6;

function compared({ run }: Context): Part[][] {
  const found = run.doc.comparison;
  if (run.verdict("compare").length > 0) return [];
  return (found?.pairs ?? []).slice(0, maxPairs).map(({ a, b, verdict }) => {
    const name = (at: number) => el("bdi", {}, found!.runs[at]!.name);
    return ["Compared: ", name(a), " and ", name(b), `: ${verdict}.`];
  });
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1).replaceAll("_", " ");
