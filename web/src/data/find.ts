import type { State } from "../ui/store";
import { layerName } from "./layers";
import type { Run } from "./run";

/** Something that the box found: how it is called, what it is, and the state that shows it. */
export interface Found {
  label: string;
  kind: string;
  state: Partial<State>;
}

/** Max number of results, and of heads among them. The list scrolls. */
const most = 40;
const mostHeads = 24;

/** Returns what matches a text: heads, edges, layers, classes, tokens; the best matches first. */
export function find(run: Run, text: string, state: Pick<State, "filter">): Found[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  return [
    ...layers(run, wanted, state),
    ...heads(run, wanted),
    ...edges(run, wanted),
    ...classes(run, wanted),
    ...tokens(run, wanted),
  ].slice(0, most);
}

/** Returns the usual name of a head: "4.7" and "4,7" are L4H7, "cross.4.7" is cross.L4H7. */
function canonical(text: string): string {
  return text.replace(/^((?:[a-z]+\.)?)(\d+)[.,](\d+)$/, "$1l$2h$3");
}

function heads(run: Run, wanted: string): Found[] {
  const name = canonical(wanted);
  // In a model with an encoder and a decoder, L4 finds the heads of layer 4 of every block.
  const matching = run.heads.filter((head) => {
    const full = head.name.toLowerCase();
    return full.startsWith(name) || full.slice(full.indexOf(".") + 1).startsWith(name);
  });
  matching.sort((a, b) => Number(b.name.toLowerCase() === name) - Number(a.name.toLowerCase() === name));
  return matching.slice(0, mostHeads).map(({ name: head, classes: known }) => ({
    label: head,
    kind: known.length > 0 ? `head, ${known.join(", ")}` : "head",
    state: { head, edge: null },
  }));
}

function edges(run: Run, wanted: string): Found[] {
  const parts = wanted.split(/\s*(?:->|>|\u2192)\s*/).map(canonical);
  if (parts.length !== 2) return [];
  const [from, to] = parts as [string, string];
  return run.edges
    .filter(({ source, target }) => source.toLowerCase() === from && target.toLowerCase().startsWith(to))
    .map(({ pair, source, target }) => ({
      label: `${source} \u2192 ${target}`,
      kind: `edge, ${pair}`,
      state: { edge: { pair, source, target }, tab: "circuit" as const, at: null },
    }));
}

function layers(run: Run, wanted: string, { filter }: Pick<State, "filter">): Found[] {
  const found = /^(?:(encoder|decoder|cross)[. ])?l(?:ayer)?\s*(\d{1,4})$/.exec(wanted);
  if (!found) return [];
  const [, block, number] = found;
  const last = run.layers.count - 1;
  return run.layers.byBlock
    .filter((one) => one.layer === Number(number) && (block === undefined || one.block === block))
    .map((one) => {
      const at = run.layers.column(one);
      return {
        label: layerName(one),
        kind: "edges of this layer and the next to it",
        state: {
          tab: "circuit",
          at: null,
          filter: { ...filter, layers: [Math.max(0, at - 1), Math.min(last, at + 1)] },
        },
      };
    });
}

function classes(run: Run, wanted: string): Found[] {
  return run.heads.flatMap(({ name, classes: known }) => {
    const match = known.find((one) => one.toLowerCase().includes(wanted));
    return match ? [{ label: name, kind: `class ${match}`, state: { head: name, edge: null } }] : [];
  });
}

function tokens(run: Run, wanted: string): Found[] {
  return run.heads.flatMap(({ name }) =>
    [...run.tokensOf(name)].flatMap(([role, list]) => {
      const match = list.find((token) => token.text.trim().toLowerCase() === wanted && !(token.q > 0.05));
      return match ? [{ label: name, kind: `token in ${role}`, state: { head: name, edge: null } }] : [];
    }),
  );
}
