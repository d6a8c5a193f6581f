import { parseHead } from "./head";
import type { Edge, Run } from "./run";
import { readStanding } from "./significance";

/** Returns the layer of an MLP, "L4M"; null for any other name. */
export function mlpLayer(name: string): number | null {
  const found = /^L(\d{1,6})M$/.exec(name);
  return found ? Number(found[1]) : null;
}

/** Returns the edges between heads and MLPs, and between MLPs; empty if relate did not compare MLPs (--nodes mlp). */
export function mlpEdges(run: Run): Edge[] {
  const table = run.table("component_edges");
  if (!table) return [];
  const edges: Edge[] = [];
  for (let row = 0; row < table.rows; ++row) {
    const source = table.text("source", row);
    const target = table.text("target", row);
    const mlp = [source, target].filter((name) => mlpLayer(name) !== null).length;
    const heads = [source, target].filter((name) => parseHead(name) !== null).length;
    if (mlp === 0 || mlp + heads < 2) continue;
    const numbers = (letter: string) =>
      Object.fromEntries(
        ["isotropic", "span"]
          .filter((null_) => table.has(`${letter}_${null_}`))
          .map((null_) => [null_, table.number(`${letter}_${null_}`, row)]),
      );
    edges.push({
      pair: table.text("pair", row),
      source,
      target,
      score: table.number("overlap", row),
      rank: table.number("rank", row),
      z: numbers("z"),
      p: numbers("p"),
      q: numbers("q"),
      log10p: numbers("log10_p"),
      standing: readStanding(table, row),
    });
  }
  return edges;
}
