import { describe, expect, it } from "vitest";
import { Blocks } from "../src/data/blocks";
import type { Doc } from "../src/data/doc";
import { Run } from "../src/data/run";
import { Table } from "../src/data/table";
import { stepHead } from "../src/ui/context";
import { visibleToken } from "../src/ui/dom";
import { formatAddress, parseAddress } from "../src/ui/store";
import { shellQuote } from "../src/views/details";
import { chosenIn, filterEdges } from "../src/views/edges";
import { HeadGrid } from "../src/views/grid";
import { clip } from "../src/views/maps";
import { headOrder } from "../src/views/matrices";
import { readGroups } from "../src/views/softmax";
import { readCurves } from "../src/views/sparsity";

const column = (name: string, values: (string | number | null)[]) => ({ name, values });
const doc: Doc = {
  format: 1,
  title: "t",
  program: "",
  notes: [],
  manifest: { files: {}, commands: {} },
  tables: {
    heads: {
      rows: 5,
      columns: [column("head", ["L0H0", "L0H1", "L1H0", "L1H1", "L0KV0"]), column("classes", ["", "a;b", "", "", ""])],
    },
    edges: {
      rows: 3,
      columns: [
        column("pair", ["OQ", "OK", "OK"]),
        column("source", ["L0H0", "L0H1", "L0H0"]),
        column("target", ["L1H0", "L1H1", "L1H1"]),
        column("score", [2, 3, 1]),
        column("rank", [1, 1, 2]),
        column("z_span", [5, 9, 1]),
        column("q_span", [0.001, 0.2, 1]),
      ],
    },
    hubs: {
      rows: 2,
      columns: [
        column("rank", [1, 2]),
        column("head", ["L1H1", "L0H0"]),
        column("strength", [9, 5]),
        column("reason", ["", ""]),
      ],
    },
  },
  trees: {
    communities: { n: 4, order: [2, 0, 3, 1], levels: [[4], [1, 2, 3, 4]], names: ["L0H0", "L0H1", "L1H0", "L1H1"] },
  },
};
const run = new Run(doc, new Blocks({} as Document));

describe("run", () => {
  it("collects heads with their classes", () => {
    expect(run.heads.map((head) => head.name)).toEqual(["L0H0", "L0H1", "L0KV0", "L1H0", "L1H1"]);
    expect(run.head("L0H1")?.classes).toEqual(["a", "b"]);
    expect(run.nulls).toEqual(["span"]);
  });
});

describe("edges", () => {
  const filter = { pairs: ["OQ", "OK"], top: 2, null_: "span", q: 1 };
  it("are filtered by pair, rank and q, weakest first", () => {
    expect(filterEdges(run.edges, filter).map((edge) => edge.score)).toEqual([1, 2, 3]);
    expect(filterEdges(run.edges, { ...filter, top: 1 })).toHaveLength(2);
    expect(filterEdges(run.edges, { ...filter, pairs: ["OK"] })).toHaveLength(2);
    expect(filterEdges(run.edges, { ...filter, q: 0.05 }).map((edge) => edge.pair)).toEqual(["OQ"]);
  });
  it("fade only if the chosen head has a visible edge", () => {
    expect(chosenIn(run.edges, { hover: null, head: "L1H0" })).toBe("L1H0");
    expect(chosenIn(run.edges, { hover: "L9H9", head: "L1H0" })).toBe("L1H0");
    expect(chosenIn([], { hover: null, head: "L1H0" })).toBeNull();
  });
});

describe("orders of heads", () => {
  const heads = run.heads.filter((head) => !head.kv);
  const names = (by: string) => headOrder(run, heads, by).map((i) => heads[i]!.name);
  it("are permutations by layer, tree and hub", () => {
    expect(names("layer")).toEqual(["L0H0", "L0H1", "L1H0", "L1H1"]);
    expect(names("communities")).toEqual(["L1H0", "L0H0", "L1H1", "L0H1"]);
    expect(names("hubs").slice(0, 2)).toEqual(["L1H1", "L0H0"]);
  });
});

describe("grid of heads", () => {
  const grid = new HeadGrid(run);
  const box = { left: 10, top: 20, width: 200, height: 400 };
  it("finds the head at its own center", () => {
    for (const head of run.heads) {
      const at = grid.center(head.name, box)!;
      expect(grid.at(at.x, at.y, box)).toBe(head.name);
    }
    expect(grid.at(0, 0, box)).toBeNull();
  });
  it("is navigated with arrow keys up to its border", () => {
    expect(stepHead(run, "L0H0", "ArrowRight")).toBe("L1H0");
    expect(stepHead(run, "L0H0", "ArrowUp")).toBe("L0H0");
    expect(stepHead(run, null, "ArrowDown")).toBe("L0H0");
    expect(stepHead(run, "L0H0", "x")).toBeNull();
  });
});

describe("address", () => {
  it("is parsed to what was formatted", () => {
    for (const address of [
      { at: "wiring", head: "L0H6" },
      { at: null, head: "a&b=c#" },
      { at: null, head: null },
    ])
      expect(parseAddress(formatAddress(address))).toEqual(address);
  });
});

describe("text", () => {
  it("shows spaces and control characters of tokens", () =>
    expect(visibleToken(" a\n\u0000")).toBe("\u00b7a\u21b5\ufffd"));
  it("is truncated by code points", () => expect(clip("\u{1f600}".repeat(12))).toBe(`${"\u{1f600}".repeat(8)}\u2026`));
  it("is quoted for a shell", () => {
    expect(["a/b.c", "a b", "it's", "$(x)"].map(shellQuote)).toEqual(["a/b.c", "'a b'", `'it'\\''s'`, "'$(x)'"]);
  });
});

describe("tables of organize and softmax", () => {
  it("are read as curves by name", () => {
    const table = new Table({
      rows: 3,
      columns: [
        column("name", ["network", "network", "L0H0"]),
        column("rank", [1, 2, 1]),
        column("found", [1, 0.5, 1]),
        column("shuffled", [1, 0.7, 1]),
      ],
    });
    const curves = readCurves(table);
    expect(curves.map((curve) => [curve.name, curve.points.length])).toEqual([
      ["network", 2],
      ["L0H0", 1],
    ]);
    expect(curves[0]!.points[1]).toEqual({ rank: 2, found: 0.5, shuffled: 0.7 });
  });
  it("pair values with their shuffled control", () => {
    const table = new Table({
      rows: 1,
      columns: [
        "error_first",
        "error_first_shuffled",
        "alpha_scores",
        "alpha_scores_low",
        "scores_softmax_rand_key",
        "speed",
      ].map((name, i) => column(name, [i])),
    });
    const groups = readGroups(table);
    expect(groups.map((group) => group.title)).toEqual([
      "relative error of the approximation",
      "H\u00f6lder exponent",
      "agreement of scores and softmax",
      "other values",
    ]);
    expect(groups[0]!.strips).toEqual([{ label: "first order", found: [0], control: [1] }]);
    expect(groups[2]!.strips[0]!.label).toBe("Rand index of keys");
  });
});
