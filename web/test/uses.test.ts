import { describe, expect, it } from "vitest";
import { Blocks } from "../src/data/blocks";
import { readComparison, verdictWords } from "../src/data/comparison";
import type { Doc } from "../src/data/doc";
import { atBudget, beaten, between, randomSpread, readPruning } from "../src/data/pruning";
import { Run } from "../src/data/run";
import { mean, median } from "../src/data/stats";
import { apart, ending, shortened } from "../src/views/labels";

type Row = (string | number | null)[];
const table = (names: string[], rows: Row[]) => ({
  rows: rows.length,
  columns: names.map((name, i) => ({ name, values: rows.map((row) => row[i] ?? null) })),
});
const open = (tables: Doc["tables"], rest: Partial<Doc> = {}) => {
  const commands = { prune: { identity: { protected: "L1H1" } } };
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

  it("is absent where there is none", () => expect(readPruning(open({}))).toBeNull());
  it("knows heads of the ranking and those that were to stay", () => {
    expect(run.heads.map((head) => head.name)).toEqual(["L0H0", "L0H1", "L1H0", "L1H1"]);
  });
  it("counts damage from where nothing is removed", () => {
    expect(pruned.orders.map((order) => atBudget(order, "damage"))).toEqual([0.5]);
    expect([pruned.budget, pruned.basis, pruned.measures]).toEqual([
      2,
      "loss",
      ["damage", "loss", "kl", "agreement", "change"],
    ]);
    const byKl = open(tables, { prune: { measure: "kl", structural: [] as string[] } as Doc["prune"] & object });
    expect(atBudget(readPruning(byKl)!.orders[0]!, "damage")).toBe(1.25);
  });
  it("puts the criterion among the random orders", () => {
    expect(beaten(pruned, pruned.orders[0]!)).toBe(2);
    const last = randomSpread(pruned.random, "damage").at(-1)!;
    expect(last.removed).toBe(2);
    for (const [found, wanted] of [
      [last.low, 0.2],
      [last.middle, 1.2],
      [last.high, 2.2],
    ])
      expect(found).toBeCloseTo(wanted!, 12);
  });
  it("lies on straight lines between points", () => {
    const order = pruned.orders[0]!;
    expect([0, 1, 2].map((removed) => between(order, removed, "damage"))).toEqual([0, 0.25, 0.5]);
    expect(between(order, 3, "damage")).toBeNaN();
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
        ["a", "b", "feature", "mean_a", "mean_b", "difference", "spread", "p_holm", "verdict"],
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

  it("keeps curves by input and place, and leaves out runs that are not named", () => {
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
  it("says what a verdict means", () => {
    expect(compared.differences.map(verdictWords)).toEqual([
      "no difference beyond the spread",
      "no more than chance",
      "differs",
      "not tested: one input",
    ]);
  });
  it("knows heads of compared runs without making them the run's own", () => {
    expect(run.heads.map((head) => head.name)).toEqual(["L1H1"]);
    expect([run.knows("L7H7"), run.knows("<b>"), run.knows(null)]).toEqual([true, false, false]);
    expect(run.head("L7H7")).toBeUndefined();
  });
});

describe("labels", () => {
  it("are moved apart and stay inside", () => {
    expect(apart([10, 50, 90], 15, [0, 100])).toEqual([10, 50, 90]);
    expect(apart([50, 50, 51], 10, [0, 100])).toEqual([50, 60, 70]);
    expect(apart([99, 98, 100], 10, [0, 100])).toEqual([90, 80, 100]);
    expect(apart([], 10, [0, 1])).toEqual([]);
  });
  it("are cut by code points", () => {
    expect(shortened("\u{1f600}".repeat(3), 2)).toBe("\u{1f600}\u2026");
    expect([ending("runs/step-900", 9), ending("short", 5)]).toEqual(["\u2026step-900", "short"]);
  });
});

describe("middles", () => {
  it("of odd and even numbers, and of nothing", () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), mean([1, 2, 6])]).toEqual([2, 2.5, 3]);
    expect([median([]), mean([])]).toEqual([NaN, NaN]);
  });
});
