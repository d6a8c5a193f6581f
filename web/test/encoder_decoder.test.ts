import { describe, expect, it } from "vitest";
import { Blocks } from "../src/data/blocks";
import type { Doc, Input } from "../src/data/doc";
import { parseEdge } from "../src/data/edge_key";
import { find } from "../src/data/find";
import { compareHeads, compareRun, parseHead, precedes } from "../src/data/head";
import { headFacts } from "../src/data/head_facts";
import { CapturedInput, queryTokens } from "../src/data/inputs";
import { layerLabel, layerName, Layers } from "../src/data/layers";
import { Run } from "../src/data/run";
import { mapImageNote } from "../src/draw/map_image";
import { stepHead } from "../src/ui/context";
import type { EdgeFilter } from "../src/ui/store";
import { light } from "../src/ui/theme";
import { filterEdges, filterNote } from "../src/views/edges";
import { HeadGrid } from "../src/views/grid";
import { bandTitle, bandTop, headAt, layoutGrid, moveInGrid, titleHeight } from "../src/views/head_grid_layout";
import { queryName, tokenName } from "../src/views/maps";
import { nodeColors } from "../src/views/node_color";
import { layoutStory } from "../src/views/story_layout";
import { columnGroups, columnLabel, WiringLayout } from "../src/views/wiring_layout";

const column = (name: string, values: (string | number | null)[]) => ({ name, values });
// As in heads.csv: two layers of encoder, decoder and cross-attention with two heads each.
const names = ["encoder", "decoder", "cross"].flatMap((block) =>
  [0, 1].flatMap((layer) => [0, 1].map((index) => `${block}.L${layer}H${index}`)),
);
const text = (tokens: string[]) => tokens.map((one) => ({ text: one }));
const part = (block: string, number: number, entropy: number[]): Input => ({
  name: `input ${number}`,
  number,
  folder: `${block}/`,
  tokens: {
    block,
    mask: block === "decoder" ? "causal" : "none",
    heads: names.filter((name) => name.startsWith(block)),
    tokens: text(block === "decoder" ? ["<s>", "ja"] : ["y", "e", "s"]),
    ...(block === "cross" ? { query_tokens: text(["<s>", "ja"]), first_query: 1 } : {}),
  },
  summary: { entropy, largest: [], first: [] },
});
const doc: Doc = {
  format: 1,
  title: "t",
  program: "",
  notes: [],
  manifest: { files: {}, commands: {} },
  tables: {
    heads: { rows: names.length, columns: [column("head", [...names].reverse())] },
    edges: {
      rows: 3,
      columns: [
        column("pair", ["OK", "OQ", "OQ"]),
        column("source", ["encoder.L1H0", "decoder.L0H1", "cross.L0H0"]),
        column("target", ["cross.L0H1", "cross.L0H1", "decoder.L1H0"]),
        column("score", [3, 2, 1]),
        column("rank", [1, 1, 2]),
      ],
    },
  },
  inputs: [0, 1].flatMap((number) =>
    ["encoder", "decoder", "cross"].map((block, i) => part(block, number, [4 - i, 5, 6, 7 + number])),
  ),
  main_input: { organize: 2 },
};
const run = new Run(doc, new Blocks({} as Document));
const head = (name: string) => parseHead(name)!;

describe("heads of blocks", () => {
  it("are parsed from their names", () => {
    expect(head("cross.L4H10")).toMatchObject({ block: "cross", layer: 4, index: 10, kv: false });
    expect(head("encoder.L4KV1")).toMatchObject({ block: "encoder", kv: true });
    expect(head("L4H10").block).toBe("");
    for (const name of ["Cross.L0H0", "both.L0H0", ".L0H0", "cross.cross.L0H0"]) expect(parseHead(name)).toBeNull();
  });
  it("are in the order of the files: block by block", () => {
    expect(run.heads.map((one) => one.name)).toEqual(names);
    expect([head("cross.L0H0"), head("decoder.L9H0")].sort(compareHeads)[0]!.name).toBe("decoder.L9H0");
  });
  it("precede each other in their stream as layers run", () => {
    const before = (a: string, from: string, b: string, to: string) => precedes(head(a), from, head(b), to);
    expect(before("encoder.L1H0", "O", "cross.L0H0", "K")).toBe(true);
    expect(before("encoder.L1H0", "O", "cross.L0H0", "Q")).toBe(false);
    expect(before("decoder.L0H0", "O", "cross.L0H0", "Q")).toBe(true);
    expect(before("cross.L0H0", "O", "decoder.L1H0", "V")).toBe(true);
    expect(before("cross.L0H0", "O", "decoder.L0H0", "V")).toBe(false);
    expect(before("L0H0", "O", "L1H0", "V")).toBe(true);
  });
  it("are ends of edges in addresses", () => {
    expect(parseEdge("OK:encoder.L1H0>cross.L0H1")).toEqual({
      pair: "OK",
      source: "encoder.L1H0",
      target: "cross.L0H1",
    });
  });
  it("are found without the name of their block", () => {
    const labels = (wanted: string) => find(run, wanted, { filter: {} as EdgeFilter }).map((one) => one.label);
    expect(labels("l1h1")).toEqual(["encoder.L1H1", "decoder.L1H1", "cross.L1H1"]);
    expect(labels("cross.1.0")).toEqual(["cross.L1H0"]);
    expect(labels("encoder layer 1")).toEqual(["encoder layer 1"]);
    expect(labels("layer 1")).toEqual(["encoder layer 1", "decoder layer 1", "cross-attention layer 1"]);
  });
});

describe("layers of blocks", () => {
  const { layers } = run;
  it("are in groups, and in the order in which they run", () => {
    expect(layers.byBlock.map(layerLabel).join()).toBe("encoder 0,encoder 1,decoder 0,decoder 1,cross 0,cross 1");
    expect(layers.asRun.map(layerLabel).join()).toBe("encoder 0,encoder 1,decoder 0,cross 0,decoder 1,cross 1");
    expect(layers.asRun.map((one) => layers.column(one))).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...layers.byBlock].sort(compareRun)).toEqual(layers.asRun);
    expect(layers.band(head("cross.L1H0"))).toBe(5);
    expect(layers.column(head("cross.L7H0"))).toBeNaN();
    expect([layerName(layers.asRun[3]!), layerName({ block: "", layer: 3 })]).toEqual([
      "cross-attention layer 0",
      "layer 3",
    ]);
  });
  it("count even if they have no heads, as before", () => {
    const plain = new Layers([head("L0H0"), head("L3H0")]);
    expect([plain.count, plain.named, plain.column(head("L3H0"))]).toEqual([4, false, 3]);
  });
  it("are what edges are filtered by", () => {
    const filter = {
      ...{ pairs: ["OQ", "OK"], top: 9, null_: "", shown: "all" as const, minZ: null, maxQ: null },
      ...{ layers: [1, 3] as [number, number], detector: "", class_: "", name: "", linked: false },
    };
    expect(filterEdges(run, run.edges, filter).map((edge) => edge.score)).toEqual([2, 3]);
    expect(filterNote(run, filter)).toContain("layers encoder 1 to cross 0");
    expect(headFacts(run).find((one) => one.head.name === "cross.L1H0")!.column).toBe(5);
  });
  it("are columns of the wiring, so that every edge leads to the right", () => {
    const layout = new WiringLayout(run.heads, [], layers, false);
    for (const { source, target } of run.edges)
      expect(layout.places.get(source)!.column).toBeLessThan(layout.places.get(target)!.column);
    expect(layers.asRun.map(columnLabel)).toEqual(["0", "1", "0", "c0", "1", "c1"]);
    expect(columnGroups(layers.asRun)).toEqual([
      { first: 0, last: 1, name: "encoder layer" },
      { first: 2, last: 5, name: "decoder layer (c: cross-attention)" },
    ]);
    expect(columnGroups(new Layers([head("L2H0")]).asRun)).toEqual([{ first: 0, last: 2, name: "layer" }]);
    expect(columnGroups([])).toEqual([]);
  });
  it("are columns of the story", () => {
    const { places, byLayer } = layoutStory(run.edges, 1400, true, false);
    expect(byLayer).toBe(true);
    for (const { source, target } of run.edges) expect(places.get(source)!.x).toBeLessThan(places.get(target)!.x);
  });
  it("have colors by block, and in the order in which they run", () => {
    const color = (by: string, name: string) => nodeColors(run, by).color(name, light);
    expect(nodeColors(run, "block").legend.map((one) => one.label)).toEqual(["encoder", "decoder", "cross-attention"]);
    expect(color("block", "cross.L0H0")).toBe(color("block", "cross.L1H1"));
    expect(color("block", "cross.L0H0")).not.toBe(color("block", "encoder.L0H0"));
    expect(nodeColors(run, "order of layers").ends).toEqual([0, 5]);
  });
});

describe("grids of heads in blocks", () => {
  const box = { left: 10, top: 20, width: 800, height: 400 };
  it("have three groups with a gap between them", () => {
    const grid = new HeadGrid(run);
    expect(grid.columns).toBe(8);
    for (const one of run.heads) {
      const at = grid.center(one.name, box)!;
      expect(grid.at(at.x, at.y, box)).toBe(one.name);
    }
    expect(grid.column({ block: "decoder", layer: 0 })).toBe(3);
  });
  it("can show one block alone", () => {
    const grid = new HeadGrid(run, ["cross"]);
    expect(grid.columns).toBe(2);
    expect(grid.queryHeads().map((one) => one.name)).toEqual(names.slice(8));
    expect(grid.center("encoder.L0H0", box)).toBeNull();
  });
  it("are navigated from group to group", () => {
    const band = (one: { block: "" | "encoder" | "decoder" | "cross"; layer: number }) => run.layers.band(one);
    expect(stepHead(run, "encoder.L1H1", "ArrowRight", band)).toBe("decoder.L0H1");
    expect(stepHead(run, "decoder.L0H1", "ArrowRight")).toBe("cross.L0H1");
    expect(stepHead(run, "cross.L1H1", "ArrowRight")).toBe("cross.L1H1");
  });
  it("of pictures have the name of a block above its first layer", () => {
    const layout = layoutGrid(run.heads, run.layers, 900);
    expect(layout.bands.map((_, band) => bandTitle(layout, band))).toEqual([
      ...["encoder", null, "decoder", null],
      ...["cross-attention", null],
    ]);
    expect(bandTop(layout, 0)).toBe(titleHeight);
    expect(bandTop(layout, 2)).toBe(2 * titleHeight + 2 * layout.cell);
    expect(headAt(layout, 4, 45, 1)?.name).toBe("cross.L0H0");
    const down = moveInGrid(layout, run.head("encoder.L1H0")!, "ArrowDown");
    expect(down?.name).toBe("decoder.L0H0");
  });
});

describe("inputs with three kinds of maps", () => {
  it("are one input each", () => {
    expect(run.inputs).toHaveLength(2);
    expect(run.inputs[1]!.heads).toEqual(names);
    expect(run.inputs[1]!.partOf("cross.L0H1")).toBe(doc.inputs![5]);
    expect(run.inputs[0]!.partOf("L0H0")).toBeUndefined();
    expect(run.inputs[0]!.summaryOf("entropy").get("cross.L0H0")).toBe(2);
    expect(run.mainPart("organize")).toBe(doc.inputs![2]);
  });
  it("have the mean entropy of every head", () => {
    const facts = headFacts(run).find((one) => one.head.name === "decoder.L1H1")!;
    expect(facts.entropy).toBe(7.5);
  });
  it("name queries and keys of cross-attention by their own tokens", () => {
    const cross = doc.inputs![2]!;
    expect(queryTokens(cross)).toHaveLength(2);
    expect([queryName(cross, 0), tokenName(cross, 0)]).toEqual(["ja", "y"]);
    expect(mapImageNote(cross)).toContain("Rows are tokens of the target, columns are tokens of the source.");
    const encoder = new CapturedInput([doc.inputs![0]!]).first;
    expect(queryName(encoder, 0)).toBe("y");
    expect(mapImageNote(encoder)).toContain("Rows are queries, columns are keys.");
  });
});
