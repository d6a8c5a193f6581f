// Synthetic results of prune, patch and compare, generated from a seed.

import { halvedTree } from "./made_up_tree.mjs";

/**
 * Adds orders of six criteria, 20 random orders with curves, 40 more without, and 60 matched by layer per criterion. pk
 * beats chance, norm does not.
 */
export function addPrune(run, heads, uniform) {
  run.begin("prune", { damage: "loss", protect: heads.at(-1) });
  const ranked = heads.slice(0, -1);
  const budget = Math.floor(heads.length / 2);
  const budgets = Array.from({ length: 9 }, (_, i) => Math.round((i * budget) / 8));
  const cost = { information: 1.6, redundancy: 1.1, pk: 0.3, norm: 2.6, alone: 0.12, greedy: 0.05 };
  const orders = [
    ...Object.entries(cost).map(([criterion, most]) => ({ criterion, seed: "", most })),
    ...Array.from({ length: 20 }, (_, seed) => ({ criterion: "random", seed, most: 1 + 2 * uniform() })),
  ];
  const ranking = [];
  const curve = [];
  for (const { criterion, seed, most } of orders) {
    const shuffled = ranked.map((head) => [uniform(), head]).sort((a, b) => a[0] - b[0]);
    const listed = criterion === "greedy" ? shuffled.slice(0, budget) : shuffled;
    listed.forEach(([, head], i) => {
      const [, layer, index] = /L(\d+)H(\d+)/.exec(head);
      const score = criterion === "alone" ? i * 0.01 - 0.03 : i * 0.5;
      ranking.push([
        criterion,
        seed,
        i + 1,
        head,
        layer,
        index,
        score,
        i < budget ? "yes" : "no",
        i === 0 ? "yes" : "no",
      ]);
    });
    for (const removed of budgets) {
      const loss = 2 + most * (removed / budget) ** 2;
      curve.push([
        criterion,
        seed,
        removed,
        loss,
        0.62 - 0.1 * (loss - 2),
        (loss - 2) * 0.9,
        1 - 0.2 * (loss - 2),
        0.1,
      ]);
    }
  }
  run.table(
    "ranking.csv",
    ["criterion", "seed", "rank", "head", "layer", "index", "score", "removed", "zero_already"],
    ranking,
  );
  run.table("curve.csv", ["criterion", "seed", "removed", "loss", "accuracy", "kl", "agreement", "change"], curve);
  const at = (most) => [most, 2 + most, 0.62 - 0.1 * most, 0.9 * most, 1 - 0.2 * most, 0.1];
  const random = orders.filter((order) => order.criterion === "random").map(({ most }) => most);
  // One of the orders without a curve costs less than pk.
  const without = Array.from({ length: 40 }, (_, i) => (i === 7 ? 0.2 : 1 + i / 12));
  const byLayer = Array.from({ length: 60 }, (_, i) => (i % 12 === 0 ? 0.25 : 0.5 + i / 25));
  run.table(
    "orders.csv",
    ["control", "criterion", "seed", "damage", "loss", "accuracy", "kl", "agreement", "change"],
    [
      ...[...random, ...without].map((most, seed) => ["random", "", seed, ...at(most)]),
      ...Object.keys(cost).flatMap((criterion) =>
        byLayer.map((most, seed) => ["random-by-layer", criterion, seed, ...at(most)]),
      ),
    ],
  );
  const rankings = Object.keys(cost).map((criterion, i) => ({ criterion, structural: i < 3 }));
  const replacement_note = "A removed head writes its mean over the inputs used to choose.";
  const summary = {
    heads: heads.length,
    removed: budget,
    chosen_on: 4,
    measured_on: 12,
    held_out: true,
    replacement_note,
  };
  const said = "pk (0.30 nats) does less damage than 59 of 60 random orders: structure beats chance (p = 0.033).";
  run.put("prune.json", JSON.stringify({ ...summary, damage_measure: "loss", rankings, said }));
}

/** Adds cut edges of two pairs of roles. With `effect`, the first chosen edge of each pair is the circuit. */
export function addPatch(run, uniform, effect) {
  const said = effect
    ? "2 of 32 chosen edges change the output more than 99 % of random edges between the same layers; the strongest is OK L0H1 > L1H2 (+1.5 nats of loss)."
    : "No effect beyond that of random edges: 0 of 32 chosen edges are above the level of their controls.";
  run.begin("patch", { metric: "loss", ids: "made up/random.npy" }, [said, "The circuit has few edges."]);
  const cuts = [];
  const agreement = [];
  for (const pair of ["OQ", "OK"]) {
    const level = 0.02;
    for (const sample of ["top", "screen"]) {
      for (let i = 0; i < 16; ++i) {
        const kind = i % 2 === 0 ? sample : "control";
        const strong = effect && i === 0 && sample === "top";
        const size = strong ? (pair === "OK" ? 1.5 : -0.5) : i === 15 ? 0 : level * uniform() ** 3;
        const z = kind === "control" ? 2 * uniform() - 1 : strong ? 40 : 12 * uniform();
        const names = strong ? ["L0H1", "L1H2"] : [`L0H${i % 4}`, `L${1 + (i % 3)}H${i % 4}`];
        cuts.push([pair, ...names, 2 + z / 10, z, uniform() / 10, size, kind, flag(z > 5), sample]);
        cuts.at(-1).push(flag(strong), flag(strong));
      }
      const above = effect && sample === "top" ? 1 : 0;
      const scores = above > 0 ? [0.9, 0.95, 1, 0.3, 0.7, 0.001] : ["", "", "", 0.1, 0.1, 0.4];
      agreement.push([pair, sample, 8, 8, level, above, 0.004, 0.003, ...scores]);
    }
  }
  const columns = ["pair", "source", "target", "pk", "z", "local", "effect", "kind", "beyond_chance", "sample"];
  run.table("patch.csv", [...columns, "above_controls", "in_circuit"], cuts);
  const compared = ["auc_pk", "auc_z", "auc_local", "rank_correlation_pk", "rank_correlation_local", "p"];
  run.table(
    "patch_agreement.csv",
    ["pair", "sample", "chosen", "controls", "level", "above", "median", "median_control", ...compared],
    agreement,
  );
  addComponentCuts(run, uniform, effect);
}

/** Adds cut edges to MLPs and the unembedding. With `effect`, the first one to an MLP is in the circuit. */
function addComponentCuts(run, uniform, effect) {
  const level = 0.05;
  const cuts = [];
  const agreement = [];
  for (const [pair, target] of [
    ["OM", "L2M"],
    ["OU", "U"],
  ]) {
    for (let i = 0; i < 8; ++i) {
      const strong = effect && i === 0 && pair === "OM";
      const size = strong ? 0.7 : level * uniform() ** 3;
      const kind = i % 2 === 0 ? "top" : "control";
      const row = [pair, `L${i % 3}H${i % 4}`, target, uniform(), strong ? 20 : 4 * uniform(), size, kind];
      cuts.push([...row, flag(strong), flag(strong), flag(strong)]);
    }
    const found = effect && pair === "OM";
    agreement.push([pair, 4, 4, level, found ? 1 : 0, 0.004, 0.003, ...(found ? [0.8, 0.9] : ["", ""])]);
    agreement.at(-1).push(0.2, found ? 0.001 : 0.6);
  }
  const ends = ["pair", "source", "target"];
  const flags = ["beyond_chance", "above_controls", "in_circuit"];
  run.table("patch_components.csv", [...ends, "overlap", "z", "effect", "kind", ...flags], cuts);
  const compared = ["auc_overlap", "auc_z", "rank_correlation_overlap", "p"];
  const counts = ["pair", "chosen", "controls", "level", "above", "median", "median_control"];
  run.table("patch_component_agreement.csv", [...counts, ...compared], agreement);
}

const flag = (yes) => (yes ? "yes" : "no");
const shares = [0.001, 0.01, 0.1, 0.5];
const figures = ["l1", "gain", "alpha", "head depth", "head branching", "head balance"];

/** Adds a comparison. The first two runs are alike, the others differ; the last has one input, so it is not tested. */
export function addCompare(run, names, tokens, uniform) {
  run.begin("compare", { what: "pattern" });
  const inputs = (at) => (names.length > 2 && at === names.length - 1 ? 1 : 5);
  const features = [];
  const put = (name, input, feature, x, value) => features.push([name, input, feature, x, value]);
  names.forEach((name, at) => {
    const shift = at < 2 ? 0 : at;
    for (let input = 0; input < inputs(at); ++input) {
      for (const share of shares)
        put(name, input, "decay", share, -Math.log10(share) * (1 - shift / 5) + uniform() / 3);
      for (const axis of ["head", "query"])
        for (let k = 1; k <= 8; ++k) put(name, input, `${axis} spectrum`, k, (0.6 + shift / 9) ** k + uniform() / 20);
      for (const figure of figures) put(name, input, figure, "", 1 + shift + uniform() / 2);
    }
    put(name, "", "informativeness OQ", "", 0.5 + shift);
  });
  run.table("features.csv", ["run", "input", "feature", "x", "value"], features);
  const compared = ["decay", "head spectrum", "query spectrum", ...figures, "informativeness OQ"];
  const pairs = [];
  const rows = [];
  for (let a = 0; a < names.length; ++a) {
    for (let b = a + 1; b < names.length; ++b) {
      const tested = inputs(b) > 1;
      const differ = tested && b >= 2 ? 2 : 0;
      compared.forEach((feature, i) => {
        const untested = !tested || feature.startsWith("informativeness");
        const numbers = untested ? ["", "", ""] : i < differ ? [0.3, 0.0001, 0.001] : [2 + i, 0.4, 1];
        const verdict = untested ? "untested" : i < differ ? "differs" : "none";
        rows.push([names[a], names[b], feature, 1, 1 + b, b, ...numbers, "no", verdict]);
      });
      const verdict = !tested
        ? "not tested: the spread over inputs is not known, capture several"
        : differ > 0
          ? `differ in ${differ} of 9 features`
          : "no difference beyond the spread over inputs in 9 features";
      pairs.push({ a, b, differ, tested: tested ? 9 : 0, verdict });
    }
  }
  run.table(
    "comparison.csv",
    ["a", "b", "feature", "mean_a", "mean_b", "difference", "spread", "p", "p_family", "paired", "verdict"],
    rows,
  );
  const distances = names.flatMap((_, i) => names.map((_, j) => (i === j ? 0 : 0.3 + Math.abs(i - j))));
  run.array("distances.npy", distances, [names.length, names.length]);
  const described = names.map((name, at) => ({ name, kind: "text", inputs: inputs(at), heads: 16, tokens: "20" }));
  run.put("compare.json", JSON.stringify({ runs: described, features: compared, pairs }));
  names.forEach((_, at) => addOrganized(run, at, 12 + 4 * at, tokens, uniform));
}

function addOrganized(run, at, heads, tokens, uniform) {
  const names = {
    head: Array.from({ length: heads }, (_, i) => `L${i >> 2}H${i & 3}`),
    query: Array.from({ length: 20 }, (_, i) => tokens[i % tokens.length]),
  };
  for (const [axis, elements] of Object.entries(names)) {
    const n = elements.length;
    const { tree, order } = halvedTree(n, uniform, elements);
    run.put(`compared/${at}/${axis}.json`, JSON.stringify(tree), { kind: "tree" });
    const place = order.map((_, i) => order.indexOf(i) / n);
    const affinity = place.flatMap((p) => place.map((q) => Math.exp(-3 * Math.abs(p - q))));
    run.array(`compared/${at}/${axis}.npy`, affinity, [n, n]);
  }
}
