// Writes synthetic RUN folders from a seed, for tests of the report that need every kind of file or more heads than the
// bundled models have. The numbers have no meaning.
//
//   node make_run.mjs FOLDER [full|large|huge|hostile|image|chance|old|prune|patch|compare]
//
// large: 1,024 heads. huge: 5,120 heads, of which 64 have maps; no affinity matrices, because a page has no room for them.
// chance: nothing is beyond chance. old: a run without columns on significance.

import { npy, random, zip } from "./file_formats.mjs";
import { halvedTree } from "./made_up_tree.mjs";
import { addCompare, addPatch, addPrune } from "./make_uses.mjs";
import { RunWriter } from "./run_writer.mjs";

export const hostileTokens = [
  "</script><script>window.broken = 1</script>",
  "<img src=x onerror='window.broken = 2'>",
  '"quotes"',
  "'",
  "`${window.broken = 3}`",
  "\u202eright to left\u202c",
  "\u05e9\u05dc\u05d5\u05dd",
  "\u0645\u0631\u062d\u0628\u0627",
  "\u{1f469}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}",
  "a\nb\tc",
  "\u0000\u0007",
  "=1+1",
  "&lt;b&gt;",
  "]]>",
  "  ",
  "<!--",
  "%s%n",
  "__proto__",
  "constructor",
];

const flag = (yes) => (yes ? "yes" : "no");
const nulls = ["isotropic", "matched", "span"];

/** Returns the columns of edges.csv on null models, and the cells of an edge. */
function edgeStatistics(z, k, significance) {
  const columns = ["z", "p", "q"].flatMap((letter) => nulls.map((one) => `${letter}_${one}`));
  const small = significance === "none" ? 0.2 : 1e-12;
  const cells = [z, z / 2, z / 3, small, small, 0.001, small, small, 0.2];
  if (significance === "old") return { columns, cells };
  const beyond = significance === "some" && k < 20;
  columns.push(...nulls.map((one) => `log10_p_${one}`), "beyond_chance", "stands_out");
  cells.push(...(significance === "none" ? [-0.7, -0.7, -3] : [-40 - k, -20 - k, -3]));
  cells.push(flag(beyond), flag(beyond && k < 5));
  return { columns, cells };
}

/** Adds the number of pairs beyond chance per pair of roles. Returns the verdict of relate. */
function addWiring(run, pairs, each, significance) {
  const [beyond, out] = significance === "some" ? [20, 5] : [0, 0];
  const all = pairs.length;
  run.table(
    "wiring.csv",
    ["pair", "pairs", "beyond_chance", "stands_out"],
    [...pairs.map((pair) => [pair, each, beyond, out]), ["all", each * all, beyond * all, out * all]],
  );
  return significance === "some"
    ? [
        `${beyond * all} of ${each * all} pairs of heads are beyond chance, ${out * all} stand out`,
        ...pairs.map((pair) => `${pair}: ${beyond} of ${each} pairs beyond chance; the strongest is L0H3 > L1H1`),
        "2 of 48 heads have more links than their layers explain, p corrected for 48 heads: L1H5 (p 0.001)",
      ]
    : [`No wiring beyond chance (${each * all} pairs of heads tested)`];
}

/** Adds the files of relate. */
function addRelate(run, { layers, heads, tokens, top, pairs, significance = "some", matrices = true }, uniform) {
  run.begin("relate", { metrics: "pk", pairs: pairs.join(",") });
  const old = significance === "old";
  const names = [];
  for (let layer = 0; layer < layers; ++layer)
    for (let head = 0; head < heads; ++head) names.push({ name: `L${layer}H${head}`, layer, head });
  const classes = ["previous", "induction", "duplicate"];
  run.table(
    "heads.csv",
    ["head", "layer", "index", "kind", "rank_Q", "rank_K", "rank_V", "rank_O", "classes"],
    names.map(({ name, layer, head }, i) => [
      name,
      layer,
      head,
      "query",
      64,
      64,
      64,
      64,
      i % 7 === 3 ? classes[i % 3] : "",
    ]),
  );
  const n = names.length;
  const edges = [];
  const strength = new Map(names.map(({ name }) => [name, 0]));
  for (const pair of pairs) {
    const values = new Float32Array(matrices ? n * n : 0);
    for (let i = 0; i < n && matrices; ++i)
      for (let j = 0; j < n; ++j) values[i * n + j] = 5 + uniform() + uniform() + (i % heads === j % heads ? 0.6 : 0);
    const marked = [];
    for (let k = 0; k < top; ++k) {
      const i = Math.floor(uniform() * (layers - 1) * heads * 0.4);
      const j = Math.min(
        n - 1,
        (Math.floor(i / heads) + 1) * heads + Math.floor(uniform() * heads * (layers - 1 - Math.floor(i / heads))),
      );
      if (marked.some((one) => one.i === i && one.j === j)) continue;
      const score = significance === "none" ? 7.6 - (0.4 * k) / top : 12 - (5 * k) / top;
      if (matrices) values[i * n + j] = score;
      marked.push({ i, j, score: Math.fround(score) });
    }
    marked.forEach(({ i, j, score }, k) => {
      const z = significance === "none" ? 3 - k / top : 40 - (30 * k) / top;
      edges.push([pair, names[i].name, names[j].name, score, k + 1, ...edgeStatistics(z, k, significance).cells]);
      strength.set(names[i].name, strength.get(names[i].name) + z);
      strength.set(names[j].name, strength.get(names[j].name) + z);
    });
    if (matrices) run.array(`affinity/pk_${pair}.npy`, values, [n, n]);
  }
  const columns = edgeStatistics(0, 0, significance).columns;
  run.table("edges.csv", ["pair", "source", "target", "score", "rank", ...columns], edges);
  const each = (n * (n - heads)) / 2;
  if (!old) run.commands.relate.verdict = addWiring(run, pairs, each, significance);
  const hubs = [...strength].sort((a, b) => b[1] - a[1]);
  run.table(
    "hubs.csv",
    [
      "rank",
      "head",
      "strength",
      "in_degree",
      "out_degree",
      "in_strength",
      "out_strength",
      "pagerank",
      "hub",
      "authority",
      "betweenness",
      "reason",
      ...(old ? [] : ["p_family", "significant"]),
    ],
    hubs.map(([head, value], i) => [
      i + 1,
      head,
      value,
      1,
      2,
      1,
      2,
      0.1,
      0.1,
      0.1,
      0,
      `writes to heads, most to others (${i + 1})`,
      ...(old ? [] : [significance === "some" && i < 2 ? 0.001 : 0.4, flag(significance === "some" && i < 2)]),
    ]),
  );
  run.table(
    "informativeness.csv",
    [
      "pair",
      "pairs",
      "observed_mean",
      "observed_sd",
      "random_mean",
      "random_sd",
      "kl",
      "bin_width",
      "smoothed",
      "kl_fine",
      "fine_width",
      "fine_smoothed",
      "kl_closed_form",
      ...(old ? [] : ["kl_low", "kl_high", "kl_ceiling", "at_ceiling"]),
    ],
    pairs.map((pair, i) => [
      pair,
      (n * n) / 2,
      6,
      0.5,
      5.33,
      0.3,
      0.4 + 0.35 * i,
      0.252,
      "no",
      0.5 + 0.3 * i,
      0.15,
      "no",
      0.6,
      ...(old ? [] : [0.3 + 0.35 * i, 0.5 + 0.35 * i, 1.1, flag(i === 2)]),
    ]),
  );
  run.put(
    "tree.json",
    JSON.stringify(
      halvedTree(
        n,
        uniform,
        names.map(({ name }) => name),
      ).tree,
    ),
    { kind: "tree", shape: [n] },
  );
  run.table(
    "tokens.csv",
    ["head", "role", "rank", "id", "token", "score", ...(old ? [] : ["log10_p", "q"])],
    hubs
      .slice(0, 24)
      .flatMap(([head]) =>
        ["O", "Q"].flatMap((role) =>
          Array.from({ length: 10 }, (_, k) => [
            head,
            role,
            k + 1,
            k,
            tokens[Math.floor(uniform() * tokens.length)],
            1 - k / 20,
            ...(old ? [] : [-8 + k, significance === "some" && k < 5 ? 0.001 : 0.3]),
          ]),
        ),
      ),
  );
  return names.map(({ name }) => name);
}

/** Fills a causal or full attention pattern. The kind of pattern depends on the head. */
function fillPattern(out, offset, n, head, causal, uniform) {
  for (let q = 0; q < n; ++q) {
    let sum = 0;
    const last = causal ? q : n - 1;
    for (let k = 0; k <= last; ++k) {
      const kind = head % 4;
      const focus =
        kind === 0
          ? k === q - 1
            ? 6
            : 0
          : kind === 1
            ? k === 0
              ? 5
              : 0
            : kind === 2
              ? k % 5 === q % 5
                ? 4
                : 0
              : Math.floor(k / 6) === Math.floor(q / 6)
                ? 3
                : 0;
      const weight = Math.exp(focus + uniform());
      out[offset + q * n + k] = weight;
      sum += weight;
    }
    for (let k = 0; k <= last; ++k) out[offset + q * n + k] /= sum;
  }
}

/** Adds the files of capture for one input. */
function addMaps(run, prefix, heads, tokens, { causal, image, scores }, uniform) {
  const n = tokens.length;
  const pattern = new Float32Array(heads.length * n * n);
  heads.forEach((_, h) => fillPattern(pattern, h * n * n, n, h, causal, uniform));
  run.array(`${prefix}pattern.npy`, pattern, [heads.length, n, n]);
  if (scores)
    run.array(
      `${prefix}scores.npy`,
      pattern.map((p) => Math.log(p + 1e-4)),
      [heads.length, n, n],
    );
  const described = tokens.map((text, i) => {
    if (!image) return { id: i, text, begin: i, end: i + 1 };
    if (i === 0) return { text: "[CLS]" };
    const [row, column] = [Math.floor((i - 1) / image[1]), (i - 1) % image[1]];
    return {
      text: `patch ${row},${column}`,
      row,
      column,
      box: [row * 16, column * 16, row * 16 + 16, column * 16 + 16],
    };
  });
  const size = image ? { image: { height: image[0] * 16, width: image[1] * 16, grid: image } } : {};
  run.put(
    `${prefix}tokens.json`,
    JSON.stringify({
      kind: image ? "image" : "text",
      mask: causal ? "causal" : "none",
      heads,
      first_query: 0,
      tokens: described,
      ...size,
    }),
  );
}

/** Adds the files of organize. */
function addOrganize(run, heads, tokens, uniform, significance = "some") {
  const verdicts = {
    some: ["The trees make the network 1.5x sparser than maps with the same mask and row values (1.4-1.7)."],
    none: ["No gain over the control."],
    old: [],
  };
  const identity = { what: "pattern", axes: "hqk", mask: "", skip_first: "0", queries: "", keys: "" };
  run.begin("organize", identity, verdicts[significance]);
  const old = significance === "old";
  for (const [axis, names] of [
    ["head", heads],
    ["query", tokens],
    ["key", tokens],
  ]) {
    const n = names.length;
    const { tree, order } = halvedTree(n, uniform, names);
    run.put(`trees/${axis}.json`, JSON.stringify(tree), { kind: "tree" });
    run.array(`order/${axis}.npy`, order, [n], "<i8");
    const places = order.map((_, i) => order.indexOf(i) / n);
    const affinity = new Float32Array(n * n);
    for (let i = 0; i < n; ++i)
      for (let j = 0; j < n; ++j) affinity[i * n + j] = Math.exp(-4 * Math.abs(places[i] - places[j]));
    run.array(`affinity/${axis}.npy`, affinity, [n, n]);
    const coordinates = places.flatMap((t) =>
      [Math.cos(3 * t), Math.sin(3 * t), Math.cos(6 * t), 0.3 * Math.sin(6 * t)].map(
        (v) => v + 0.12 * (uniform() - 0.5),
      ),
    );
    run.array(`embedding/${axis}.npy`, coordinates, [n, 4]);
  }
  const rows = ["network", ...heads];
  const figures = ["l1", "needed_99", "top_1%", "alpha"];
  run.table(
    "sparsity.csv",
    [
      "name",
      "gain",
      "gains",
      ...figures.flatMap((f) => ["", "_shuffled", "_shuffled_low", "_shuffled_high"].map((end) => f + end)),
      "alpha_low",
      "alpha_high",
      ...(old ? [] : ["gain_low", "gain_high", "gain_keys", "gain_shuffled", "control_l1"]),
    ],
    rows.map((name, i) => [
      name,
      significance === "none" || i % 3 === 2 ? 1.01 : 1.5 + uniform() / 5,
      flag(significance !== "none" && i % 3 !== 2),
      ...figures.flatMap(() => {
        const v = uniform();
        return [v, v * 1.4, v * 1.3, v * 1.5];
      }),
      0.2,
      0.4,
      ...(old ? [] : significance === "none" || i % 3 === 2 ? [0.97, 1.04, 1, 1.3, 8] : [1.4, 1.7, 1.3, 1.8, 8]),
    ]),
  );
  if (!old)
    run.table(
      "inputs.csv",
      ["input", "name", "queries", "keys", "l1", "control_l1", "gain", "gain_keys", "gains", "heads_gaining", "alpha"],
      [[0, "text", tokens.length, tokens.length, 5, 7.5, 1.5, 1.3, flag(significance === "some"), 30, 0.2]],
    );
  run.table(
    "convergence.csv",
    ["iteration", "score"],
    [
      [1, 412.5],
      [2, 371.2],
      [3, 368.9],
    ],
  );
  const ranks = Array.from({ length: 22 }, (_, i) => Math.round(1.5 ** i));
  run.table(
    "decay.csv",
    ["name", "rank", "found", "shuffled", ...(old ? [] : ["control"])],
    rows.flatMap((name, i) =>
      ranks.map((rank) => [
        name,
        rank,
        0.5 * rank ** (-0.8 - (i % 9) / 20),
        0.35 * rank ** -0.45,
        ...(old ? [] : [0.42 * rank ** -0.6]),
      ]),
    ),
  );
}

/** Adds the files of softmax. */
function addSoftmax(run, heads, n, uniform) {
  run.begin("softmax");
  const pairs = ["scores_softmax", "scores_approximation", "softmax_approximation"];
  const kinds = ["scores", "softmax", "approximation", "residual"];
  const columns = [
    "head",
    "error_first",
    "error_second",
    "error_first_shuffled",
    "error_second_shuffled",
    ...kinds.flatMap((k) => [`alpha_${k}`, `alpha_${k}_low`, `alpha_${k}_high`]),
    ...kinds.map((k) => `alpha_${k}_shuffled`),
    ...pairs.flatMap((p) =>
      ["affinity_query", "affinity_key", "rand_query", "rand_key", "cophenetic_query", "cophenetic_key"].map(
        (f) => `${p}_${f}`,
      ),
    ),
  ];
  run.table(
    "invariance.csv",
    columns,
    heads.map((head) => [
      head,
      ...columns
        .slice(1)
        .map((c) => (uniform() * (c.includes("error") ? 0.4 : 0.5) + (c.includes("affinity") ? 0.4 : 0.1)).toFixed(4)),
    ]),
  );
  for (const head of heads.slice(0, 2)) {
    const map = new Float32Array(n * n);
    fillPattern(map, 0, n, heads.indexOf(head) + 2, false, uniform);
    const arrays = {
      "scores.npy": npy(
        map.map((v) => Math.log(v + 1e-3)),
        [n, n],
      ),
      "softmax.npy": npy(map, [n, n]),
      "first_order.npy": npy(
        map.map((v) => v * 0.8),
        [n, n],
      ),
      "approximation.npy": npy(
        map.map((v) => v * 0.95),
        [n, n],
      ),
    };
    run.put(`paraproduct/${head}.npz`, zip(arrays), { kind: "arrays", shape: [n, n] });
  }
}

function addDetectors(run, heads, uniform) {
  run.begin("detect", {}, ["5 previous-token and 3 induction heads of 48, at both lengths (64 and 128 tokens)"]);
  const kinds = ["previous", "identity", "duplicate", "induction"];
  run.table(
    "detector_lengths.csv",
    ["detector", "length", "sequences", "chance", "threshold", "heads"],
    kinds.flatMap((kind) => [64, 128].map((length) => [kind, length, 16, 2 / length, 0.4, 3])),
  );
  run.table(
    "detectors.csv",
    [
      "head",
      "layer",
      "index",
      "previous",
      "identity",
      "duplicate",
      "induction",
      "threshold",
      "detected",
      "at_one_length",
      ...kinds.flatMap((kind) => [`${kind}_sd`, `${kind}_second`, `${kind}_second_sd`]),
    ],
    heads.map((head, i) => [
      head,
      /L(\d+)/.exec(head)[1],
      i,
      i % 11 === 2 ? 0.93 : uniform() * 0.1,
      uniform() * 0.2,
      uniform() * 0.1,
      i % 13 === 9 ? 0.81 : uniform() * 0.15,
      0.4,
      [i % 11 === 2 ? "previous" : "", i % 13 === 9 ? "induction" : ""].filter(Boolean).join(" "),
      i % 17 === 4 ? "duplicate" : "",
      ...kinds.flatMap((kind) => [0.02, kind === "previous" && i % 11 === 2 ? 0.88 : uniform() * 0.1, 0.03]),
    ]),
  );
}

const words =
  " the cat sat on a mat while another dog ran to its old house and then she gave it some water because he was tired".split(
    /(?= )/,
  );

/** Writes a run with the results of prune, patch or compare only. */
function makeUse(run, kind, uniform) {
  const heads = Array.from({ length: 32 }, (_, i) => `L${i >> 3}H${i & 7}`);
  if (kind === "prune") addPrune(run, heads, uniform);
  else if (kind === "patch") addPatch(run, uniform, true);
  else addCompare(run, ["1", "1.0"], words, uniform);
  run.finish();
}

export function makeRun(folder, kind = "full") {
  const seeds = {
    full: 1,
    large: 2,
    hostile: 3,
    image: 4,
    prune: 5,
    compare: 6,
    chance: 7,
    old: 8,
    patch: 9,
    huge: 10,
  };
  const uniform = random(seeds[kind]);
  const run = new RunWriter(folder, "relate");
  if (["prune", "patch", "compare"].includes(kind)) return makeUse(run, kind, uniform);
  const huge = kind === "huge";
  const large = kind === "large" || huge;
  const significance = { chance: "none", old: "old" }[kind] ?? "some";
  const text = kind === "hostile" ? hostileTokens : words;
  const tokens = Array.from({ length: huge ? 256 : large ? 512 : 40 }, (_, i) => text[i % text.length]);
  const heads = addRelate(
    run,
    {
      layers: huge ? 80 : large ? 32 : 6,
      heads: huge ? 64 : large ? 32 : 8,
      matrices: !huge,
      tokens: text,
      top: large ? 200 : 30,
      pairs: ["OQ", "OK", "OV"],
      significance,
    },
    uniform,
  );
  if (kind === "chance" || kind === "old") {
    addOrganize(run, heads, words, uniform, significance);
    if (kind === "chance") addPatch(run, uniform, false);
    return run.finish();
  }
  addDetectors(run, heads, uniform);
  run.begin("capture");
  if (kind === "image") {
    const patches = Array.from({ length: 50 }, (_, i) => (i === 0 ? "[CLS]" : `patch ${i}`));
    addMaps(run, "", heads, patches, { causal: false, image: [7, 7], scores: false }, uniform);
    addOrganize(run, heads, patches, uniform);
  } else {
    // Maps of 1,024 heads of 512 x 512 numbers would take 1 GB on disk. 128 heads are enough for the test.
    const mapped = large ? heads.slice(0, huge ? 64 : 128) : heads;
    addMaps(run, "", mapped, tokens, { causal: true, scores: !large }, uniform);
    if (!large) addMaps(run, "inputs/1/", mapped, tokens.slice(0, 24), { causal: true, scores: true }, uniform);
    addOrganize(run, large ? mapped : heads, tokens, uniform);
    addSoftmax(run, heads.slice(0, large ? 128 : heads.length), 40, uniform);
  }
  if (kind === "full") {
    addPrune(run, heads, uniform);
    addPatch(run, uniform, true);
    addCompare(run, ["before", "after", "another"], words, uniform);
    run.begin("labels");
    run.table(
      "labels.csv",
      [
        "metric",
        "pair",
        "pairs",
        "positives",
        "pr_auc",
        "roc_auc",
        "precision_at_k",
        "k",
        "heads_in_classes",
        "heads_outside",
      ],
      [
        ["pk", "OK", 960, 12, 0.9, 0.99, 0.6, 30, 9, 4],
        ["cs", "OK", 960, 12, 0.1, 0.7, 0.1, 30, 3, 20],
      ],
    );
  }
  if (large) addPrune(run, heads, uniform);
  if (kind === "hostile") addCompare(run, hostileTokens.slice(0, 5), hostileTokens, uniform);
  run.finish();
}

if (process.argv[1]?.endsWith("make_run.mjs")) makeRun(process.argv[2], process.argv[3]);
