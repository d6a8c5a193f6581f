import { describe, expect, it } from "vitest";
import { formatEdge, parseEdge } from "../src/data/edge_key";
import { formatAddress, parseAddress, type Address, type Known } from "../src/ui/address";

const plain: Address = {
  tab: "story",
  at: null,
  head: null,
  edge: null,
  pins: [],
  input: 0,
  query: null,
  filter: {
    ...{ pairs: ["OQ", "OK", "OV"], top: 10, null_: "matched", shown: "all" },
    ...{ layers: null, minZ: null, maxQ: null, detector: "", class_: "", name: "", linked: false },
  },
  zoom: null,
};
const known: Known = {
  hasHead: (name) => /^L\d(H|KV)\d$/.test(name),
  pairs: ["OQ", "OK", "OV"],
  nulls: ["isotropic", "matched"],
  inputs: 3,
  tabOf: (section) => ({ wiring: "circuit" as const, tree: "methods" as const })[section],
};
const read = (hash: string) => parseAddress(hash, plain, known);

describe("an address", () => {
  it("of a page that was just opened is empty", () => expect(formatAddress(plain, plain)).toBe("#"));
  it("restores the whole state", () => {
    const state: Address = {
      tab: "circuit",
      at: "wiring",
      head: "L4H7",
      edge: { pair: "OK", source: "L4H7", target: "L5KV1" },
      pins: ["L1H1", "L2H2"],
      input: 2,
      query: 5,
      filter: {
        ...{ pairs: ["OK"], top: 3, null_: "", shown: "out" },
        ...{ layers: [2, 5] as [number, number], minZ: 4.5, maxQ: 0.01, detector: "induction" },
        ...{ class_: "name mover", name: "L4", linked: true },
      },
      zoom: { factor: 2.5, x: 0.25, y: 0.125 },
    };
    expect(read(formatAddress(state, plain))).toEqual(state);
  });
  it("without a tab opens the tab of its section, as addresses of older pages do", () => {
    expect(read("#at=tree&head=L2H3")).toEqual({ ...plain, tab: "methods", at: "tree", head: "L2H3" });
  });
  it("with anything invalid leaves that part as it was", () => {
    for (const hash of [
      ...["#tab=nowhere", "#at=nowhere", "#head=<img>", "#edge=OK:L1H1", "#edge=OK:X>L1H1", "#input=7", "#input=-1"],
      ...["#query=1e3", "#top=0", "#width=other", "#shown=some", "#layers=3", "#z=abc", "#q=", "#detector=<b>"],
      ...["#zoom=1,2", "#zoom=0.1,0,0", "#zoom=2,9,0", "#pins=<b>,x"],
    ])
      expect(read(hash), hash).toEqual(plain);
  });
  it("keeps at most six pinned heads, each once", () => {
    expect(read("#pins=L1H1,L1H1,L2H1,L3H1,L4H1,L5H1,L6H1,L7H1").pins).toHaveLength(6);
  });
});

describe("an edge as text", () => {
  it("is read as it was written", () => {
    const edge = { pair: "OV", source: "L0H1", target: "L3H2" };
    expect(parseEdge(formatEdge(edge))).toEqual(edge);
    for (const text of ["", "OV", "OV:L0H1", "OV:L0H1>", "OV:a b>c"]) expect(parseEdge(text)).toBeNull();
  });
});
