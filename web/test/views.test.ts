import { describe, expect, it } from "vitest";
import { Blocks } from "../src/data/blocks";
import type { Doc } from "../src/data/doc";
import { organizedInput } from "../src/data/measure";
import { Run } from "../src/data/run";
import { countSentence, formatP, wiringStanding } from "../src/data/significance";
import { Table } from "../src/data/table";
import { stepHead } from "../src/ui/context";
import { visibleToken } from "../src/ui/dom";
import { light } from "../src/ui/theme";
import { shellQuote } from "../src/views/details";
import { chanceDash, chosenIn, edgeData, edgeStyle, edgeTip, filterEdges } from "../src/views/edges";
import { HeadGrid } from "../src/views/grid";
import { klText } from "../src/views/informativeness";
import { clip } from "../src/views/maps";
import { headOrder } from "../src/views/matrices";
import { readGroups } from "../src/views/softmax";
import { gainCounts, gainText, readCurves, readGains } from "../src/views/sparsity";

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
        column("z_isotropic", [50, 90, 10]),
        column("z_span", [5, 9, 1]),
        column("p_span", [1e-12, 0.01, 0.5]),
        column("q_span", [0.001, 0.2, 1]),
        column("log10_p_span", [-45.2, -2, -0.3]),
        column("beyond_chance", ["yes", "yes", "no"]),
        column("stands_out", ["yes", "no", "no"]),
      ],
    },
    wiring: {
      rows: 2,
      columns: [
        column("pair", ["OQ", "all"]),
        column("pairs", [64, 1200]),
        column("beyond_chance", [0, 12]),
        column("stands_out", [0, 1]),
      ],
    },
    hubs: {
      rows: 2,
      columns: [
        column("rank", [1, 2]),
        column("head", ["L1H1", "L0H0"]),
        column("strength", [9, 5]),
        column("reason", ["", ""]),
        column("p_family", [0.001, 0.6]),
        column("significant", ["yes", "no"]),
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
    expect(run.nulls).toEqual(["isotropic", "span"]);
  });
});

describe("edges", () => {
  const filter = {
    ...{ pairs: ["OQ", "OK"], top: 2, null_: "span", shown: "all" as const },
    ...{ layers: null, minZ: null, maxQ: null, detector: "", class_: "", name: "", linked: false },
  };
  it("are filtered by pair, rank and significance; those that stand out are last", () => {
    expect(filterEdges(run, run.edges, filter).map((edge) => edge.score)).toEqual([1, 3, 2]);
    expect(filterEdges(run, run.edges, { ...filter, top: 1 })).toHaveLength(2);
    expect(filterEdges(run, run.edges, { ...filter, pairs: ["OK"] })).toHaveLength(2);
    expect(filterEdges(run, run.edges, { ...filter, shown: "beyond" }).map((edge) => edge.score)).toEqual([3, 2]);
    expect(filterEdges(run, run.edges, { ...filter, shown: "out" }).map((edge) => edge.pair)).toEqual(["OQ"]);
  });
  it("fade only if the chosen head has a visible edge", () => {
    expect(chosenIn(run.edges, { hover: null, head: "L1H0" })).toBe("L1H0");
    expect(chosenIn(run.edges, { hover: "L9H9", head: "L1H0" })).toBe("L1H0");
    expect(chosenIn([], { hover: null, head: "L1H0" })).toBeNull();
  });
});

describe("significance", () => {
  const without = (...names: string[]) => {
    const copy = structuredClone(doc);
    for (const table of Object.values(copy.tables!))
      table.columns = table.columns.filter((one) => !names.includes(one.name));
    return copy;
  };
  const open = (data: Doc) => new Run(data, new Blocks({} as Document));
  const oldDoc = without("beyond_chance", "stands_out", "significant", "p_family", "log10_p_span");
  delete oldDoc.tables!.wiring;
  const old = open(oldDoc);
  const chance = structuredClone(doc);
  chance.tables!.wiring!.columns[2]!.values = [0, 0];
  chance.tables!.wiring!.columns[3]!.values = [0, 0];

  it("is read from the tables", () => {
    expect(run.edges.map((edge) => edge.standing)).toEqual(["out", "beyond", "not"]);
    expect(run.hubs.map((hub) => hub.significant)).toEqual(["yes", "no"]);
    expect(wiringStanding(run)).toBe("some");
    expect(countSentence(run)).toBe("12 of 1,200 pairs are beyond chance, 1 stands out.");
    expect(countSentence(run, "OQ")).toBe("OQ: none beyond chance: 0 of 64 pairs.");
  });
  it("is said to be missing if nothing is beyond chance", () => {
    expect(wiringStanding(open(chance))).toBe("none");
    expect(countSentence(open(chance))).toBe("No wiring beyond chance: 0 of 1,200 pairs.");
  });
  it("is unknown in runs without it", () => {
    expect(old.edges.map((edge) => edge.standing)).toEqual(["unknown", "unknown", "unknown"]);
    expect(old.hubs.map((hub) => hub.significant)).toEqual(["unknown", "unknown"]);
    expect(wiringStanding(old)).toBe("unknown");
    expect(countSentence(old)).toContain("unknown");
  });
  it("never makes the isotropic null the headline", () => {
    expect(run.headlineNull).toBe("span");
    expect(open(without("z_span")).headlineNull).toBeUndefined();
  });
  it("shows no p below 1e-12", () => {
    expect(formatP(1e-40)).toBe("below 1e-12");
    expect(formatP(0.031)).toBe("0.031");
    expect(formatP(2e-5)).toBe("2e-5");
    const lines = edgeTip(run.edges[0]!, run).map((line) => (typeof line === "string" ? line : line.value));
    expect(lines.join()).toContain("p below 1e-12");
    expect(edgeData(run.edges, run).columns).toContain("log10_p_span");
    expect(edgeData(run.edges, run).faint).toEqual([true, false, false]);
  });
  it("makes edges that stand out strong and chance faint", () => {
    const [out, beyond, not] = run.edges.map((edge) =>
      edgeStyle(edge, { color: "#112233" }, 3, true, light, chanceDash(run.edges)),
    );
    expect([out!.width, beyond!.width]).toEqual([3, 3]);
    expect(not!.width).toBeLessThan(1);
    expect(out!.opacity).toBeGreaterThan(beyond!.opacity);
    expect(not!.stroke).toBe(light.faint);
    expect(not!.dash).not.toEqual([]);
  });
  it("of informativeness is an interval or the ceiling", () => {
    const row = { pair: "OQ", kl: 1.25, low: 1, high: 1.5, ceiling: 3.1, atCeiling: false, fine: 0, mean: 0 };
    const rest = { randomMean: 0, randomSd: 1 };
    expect(klText({ ...row, ...rest })).toBe("1.25 nats (1 to 1.5)");
    expect(klText({ ...row, ...rest, atCeiling: true })).toBe("at the ceiling of 3.1 nats");
    expect(klText({ ...row, ...rest, low: NaN, high: NaN })).toBe("1.25 nats");
  });
  it("of gains refers to the control with the same mask only", () => {
    const sparsity = (names: Record<string, (string | number)[]>): Doc => ({
      ...doc,
      tables: { ...doc.tables, sparsity: { rows: 2, columns: Object.entries(names).map(([n, v]) => column(n, v)) } },
    });
    const shuffled = { name: ["network", "L0H0"], gain: [1.5, 1.2], gains: ["yes", "yes"] };
    expect(gainCounts(open(sparsity(shuffled)))).toBeNull();
    const controlled = { ...shuffled, gain_low: [1.4, 0.9], gain_high: [1.7, 1.3], gains: ["yes", "no"] };
    expect(gainCounts(open(sparsity(controlled)))).toEqual({ gaining: 0, heads: 1 });
    expect(readGains(open(sparsity(controlled))).map((one) => gainText(one))).toEqual([
      "1.5 (1.4 to 1.7)",
      "1.2 (0.9 to 1.3), no gain over the control",
    ]);
  });
  it("name the input of the trees", () => {
    const inputs = (rows: number) => ({ ...doc, tables: { ...doc.tables, inputs: { rows, columns: [] } } });
    expect([doc, inputs(1), inputs(8)].map((one) => organizedInput(open(one)))).toEqual([
      ...["one input", "one input", "the first input"],
    ]);
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
    expect(curves[0]!.points[1]).toEqual({ rank: 2, found: 0.5, shuffled: 0.7, control: NaN });
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
