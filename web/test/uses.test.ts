import { describe, expect, it } from "vitest";
import { Blocks } from "../src/data/blocks";
import { storyCircuit } from "../src/data/circuit";
import { readComparison, verdictText } from "../src/data/comparison";
import { cutGroups, standingOfCut } from "../src/data/cut_groups";
import { effectOf, readCutSamples, strongestCuts } from "../src/data/cuts";
import type { Doc } from "../src/data/doc";
import { atBudget, compareWithOrders, interpolate, randomRange, readPruning } from "../src/data/pruning";
import { Run } from "../src/data/run";
import { mean, median } from "../src/data/stats";
import { spreadApart, truncateStart, truncateEnd } from "../src/views/labels";

type Row = (string | number | null)[];
const table = (names: string[], rows: Row[]) => ({
  rows: rows.length,
  columns: names.map((name, i) => ({ name, values: rows.map((row) => row[i] ?? null) })),
});
const open = (tables: Doc["tables"], rest: Partial<Doc> = {}) => {
  const commands = { prune: { identity: { protect: "L1H1" } } };
  const doc = { format: 1, title: "", program: "", notes: [], manifest: { files: {}, commands }, ...rest };
  return new Run({ ...doc, tables: tables! }, new Blocks({} as Document));
};

describe("pruning", () => {
  const ranking = ["criterion", "seed", "rank", "head", "score", "removed", "zero_already"];
  const curve = ["criterion", "seed", "removed", "loss", "accuracy", "kl", "agreement", "change"];
  const point = (criterion: string, seed: number | null, removed: number, loss: number) => [
    ...[criterion, seed, removed, loss],
    ...[null, loss / 2, 1, 0.1],
  ];
  const tables = {
    ranking: table(ranking, [
      ["pk", null, 1, "L0H1", 3, "yes", "no"],
      ["pk", null, 2, "L0H0", 5, "yes", "no"],
      ["pk", null, 3, "L1H0", 9, "no", "no"],
      ["random", 0, 1, "L0H0", 1, "yes", "no"],
    ]),
    curve: table(curve, [
      point("pk", null, 0, 2),
      point("pk", null, 2, 2.5),
      ...[0, 1, 2].flatMap((seed) => [point("random", seed, 0, 2), point("random", seed, 2, 2.2 + seed)]),
    ]),
  };
  const run = open(tables);
  const pruned = readPruning(run)!;

  it("is null if the run has none", () => expect(readPruning(open({}))).toBeNull());
  it("includes heads of the ranking and protected heads", () => {
    expect(run.heads.map((head) => head.name)).toEqual(["L0H0", "L0H1", "L1H0", "L1H1"]);
  });
  it("measures damage relative to the unpruned model", () => {
    expect(pruned.orders.map((order) => atBudget(order, "damage"))).toEqual([0.5]);
    expect([pruned.budget, pruned.basis, pruned.measures]).toEqual([
      2,
      "loss",
      ["damage", "loss", "kl", "agreement", "change"],
    ]);
    const byKl = open(tables, { prune: { measure: "kl", structural: [] as string[] } as Doc["prune"] & object });
    expect(atBudget(readPruning(byKl)!.orders[0]!, "damage")).toBe(1.25);
  });
  it("compares a criterion with the random orders", () => {
    const order = pruned.orders[0]!;
    expect(compareWithOrders(pruned, order, pruned.controls)).toEqual({ beaten: 2, orders: 3, p: 0.5 });
    expect(compareWithOrders(pruned, order, pruned.byLayer.get("pk"))).toBeNull();
    const last = randomRange(pruned.random, "damage").at(-1)!;
    expect(last.removed).toBe(2);
    for (const [found, wanted] of [
      [last.low, 0.2],
      [last.middle, 1.2],
      [last.high, 2.2],
    ])
      expect(found).toBeCloseTo(wanted!, 12);
  });
  it("compares a criterion with all orders, also those without curves", () => {
    const damages = [...Array<number>(10).fill(0.9), ...Array<number>(10).fill(0.1)];
    const rows = [
      ...[0.1, ...Array<number>(38).fill(0.7)].map((damage, seed) => ["random", "", seed, damage]),
      ...damages.map((damage, seed) => ["random-by-layer", "pk", seed, damage]),
    ];
    const all = readPruning(open({ ...tables, orders: table(["control", "criterion", "seed", "damage"], rows) }))!;
    const order = all.orders[0]!;
    expect([all.random.length, all.controls.length]).toEqual([3, 39]);
    expect(compareWithOrders(all, order, all.controls)).toEqual({ beaten: 38, orders: 39, p: 0.05 });
    // Drawing stopped at the tenth order that costs no more.
    expect(compareWithOrders(all, order, all.byLayer.get("pk"))).toEqual({ beaten: 10, orders: 20, p: 0.5 });
    const two = { ...all, orders: [order, order] };
    expect(compareWithOrders(two, order, all.controls)!.p).toBe(0.1);
  });
  it("is interpolated linearly between points", () => {
    const order = pruned.orders[0]!;
    expect([0, 1, 2].map((removed) => interpolate(order, removed, "damage"))).toEqual([0, 0.25, 0.5]);
    expect(interpolate(order, 3, "damage")).toBeNaN();
  });
});

describe("comparison", () => {
  const runs = ["a", "b"].map((name) => ({ name, kind: "text", inputs: 2, heads: 4, tokens: "8" }));
  const run = open(
    {
      features: table(
        ["run", "input", "feature", "x", "value"],
        [
          ["a", 0, "decay", 0.1, 1],
          ["a", 0, "decay", 0.5, 2],
          ["a", 1, "decay", 0.1, 3],
          ["a", 1, "decay", 0.5, 4],
          ["b", 0, "l1", null, 7],
          ["nobody", 0, "l1", null, 9],
        ],
      ),
      comparison: table(
        ["a", "b", "feature", "mean_a", "mean_b", "difference", "spread", "p_family", "verdict"],
        [
          ["a", "b", "decay", 1, 2, -1, 3, 0.5, "none"],
          ["a", "b", "l1", 1, 2, 4, 3, 0.5, "none"],
          ["a", "b", "gain", 1, 2, 4, 3, 0.01, "differs"],
          ["a", "b", "alpha", 1, 2, 4, null, null, "untested"],
          ["a", "nobody", "l1", 1, 2, 4, 3, 0.5, "none"],
        ],
      ),
    },
    {
      comparison: {
        runs,
        pairs: [],
        distances: [0, 1, 1, 0],
        axes: [
          {
            run: 1,
            axis: "head",
            side: 1,
            tree: { n: 2, order: [0, 1], levels: [[2], [1, 2]], names: ["L7H7", "<b>"] },
            array: { block: 0, type: "u8", shape: [2, 2] },
          },
        ],
      },
    },
  );
  const compared = readComparison(run)!;

  it("groups curves by run and input, and ignores unknown runs", () => {
    expect(compared.features).toEqual([
      {
        name: "decay",
        x: [0.1, 0.5],
        samples: [
          [
            [1, 2],
            [3, 4],
          ],
          [],
        ],
      },
      { name: "l1", x: [], samples: [[], [[7]]] },
    ]);
  });
  it("gives the verdict as text", () => {
    expect(compared.differences.map(verdictText)).toEqual([
      "no difference beyond the spread",
      "not significant",
      "differs",
      "not tested: only one input",
    ]);
  });
  it("accepts heads of compared runs but does not add them to the run", () => {
    expect(run.heads.map((head) => head.name)).toEqual(["L1H1"]);
    expect([run.hasHead("L7H7"), run.hasHead("<b>"), run.hasHead(null)]).toEqual([true, false, false]);
    expect(run.head("L7H7")).toBeUndefined();
  });
});

describe("labels", () => {
  it("are moved apart and stay within the ends", () => {
    expect(spreadApart([10, 50, 90], 15, [0, 100])).toEqual([10, 50, 90]);
    expect(spreadApart([50, 50, 51], 10, [0, 100])).toEqual([50, 60, 70]);
    expect(spreadApart([99, 98, 100], 10, [0, 100])).toEqual([90, 80, 100]);
    expect(spreadApart([], 10, [0, 1])).toEqual([]);
  });
  it("are truncated by code points", () => {
    expect(truncateEnd("\u{1f600}".repeat(3), 2)).toBe("\u{1f600}\u2026");
    expect([truncateStart("runs/step-900", 9), truncateStart("short", 5)]).toEqual(["\u2026step-900", "short"]);
  });
});

describe("median and mean", () => {
  it("of an odd and an even count, and of no values", () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), mean([1, 2, 6])]).toEqual([2, 2.5, 3]);
    expect([median([]), mean([])]).toEqual([NaN, NaN]);
  });
});

describe("cut edges", () => {
  const columns = ["pair", "source", "target", "pk", "z", "local", "effect", "kind", "in_circuit"];
  const run = open({
    patch: table(columns, [
      ["OQ", "L0H0", "L1H0", 2, 1, 0.1, 0.2, "top", "no"],
      ["OQ", "L0H1", "L1H0", 2, 1, 0.1, -0.5, "screen", "yes"],
      ["OQ", "L0H2", "L1H3", 2, 1, 0.1, 9, "control", "no"],
    ]),
  });
  const samples = (controls: number, ...ps: (number | null)[]) => {
    const rows = ps.map((p) => ["OQ", controls, p]);
    const agreement = table(["pair", "controls", "p"], rows);
    return readCutSamples(open({ patch_agreement: agreement }).table("patch_agreement"), "pk");
  };

  it("name heads that are not in the grid of heads", () => {
    expect(run.heads.map((head) => head.name)).toEqual(["L1H1"]); // protected from pruning
    expect(["L0H1", "L1H3", "L5H5"].map((name) => run.hasHead(name))).toEqual([true, true, false]);
  });
  it("are sorted by the size of the effect, without random edges", () => {
    expect(strongestCuts(run.cuts).map((cut) => cut.effect)).toEqual([-0.5, 0.2]);
  });
  it("have an effect if one p is small enough for the number of samples", () => {
    expect(effectOf(samples(8, 0.02, 0.5))).toBe("beyond");
    expect(effectOf(samples(8, 0.03, 0.5))).toBe("none");
    expect(effectOf(samples(8, null, 0.5))).toBe("none");
    expect(effectOf(samples(0, null))).toBe("unknown");
    expect(effectOf([])).toBe("unknown");
    expect(effectOf(samples(8, 0.02, 0.5), 4)).toBe("none"); // two more samples of other edges
  });
  it("are too few if not even all of them above all controls would count", () => {
    const of = (...counts: [number, number][]) => {
      const rows = counts.map(([chosen, controls]) => ["OQ", "top", chosen, controls, 1]);
      const agreement = table(["pair", "sample", "chosen", "controls", "p"], rows);
      return effectOf(readCutSamples(open({ patch_agreement: agreement }).table("patch_agreement"), "pk"));
    };
    expect(of([3, 3])).toBe("few"); // 2 / 20
    expect(of([4, 4])).toBe("none"); // 2 / 70
    expect(of([4, 4], [3, 3])).toBe("few"); // p is corrected for two samples
    expect(of([5, 5], [3, 3])).toBe("none");
  });
  it("are in the circuit only if edges of their kind change more than random ones", () => {
    const agreement = table(
      ["pair", "sample", "chosen", "controls", "p"],
      [
        ["OQ", "top", 20, 20, 0.001],
        ["OQ", "screen", 20, 20, 0.4],
      ],
    );
    const rows = ["top", "screen"].map((kind, i) => ["OQ", `L0H${i}`, "L1H0", 2, 1, 0.1, 0.3, kind, "yes"]);
    const both = open({ patch: table(columns, rows), patch_agreement: agreement });
    const group = cutGroups(both)[0]!;
    expect(group.cuts.map((cut) => standingOfCut(group, cut))).toEqual([
      "in the circuit",
      "above the level of random edges",
    ]);
    expect(storyCircuit(both)!.edges.map((edge) => edge.source)).toEqual(["L0H0"]);
  });
});
