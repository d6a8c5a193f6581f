import { describe, expect, it } from "vitest";
import { NumberArray } from "../src/data/array";
import { Blocks } from "../src/data/blocks";
import type { Doc, Input } from "../src/data/doc";
import { parseHead } from "../src/data/head";
import { headFacts } from "../src/data/head_facts";
import { HeadMaps } from "../src/data/head_maps";
import { Layers } from "../src/data/layers";
import { Run } from "../src/data/run";
import { findTerm, splitQuotes, splitTerms, terms } from "../src/data/terms";
import { treePath } from "../src/data/tree_path";
import { categorical, classColors, packColor } from "../src/draw/color";
import { dark, light } from "../src/ui/theme";
import { attentionOf, poolMax } from "../src/draw/map_image";
import { passes } from "../src/ui/head_filter";
import { cellPlace, columnLabels, headAt, layoutGrid, moveInGrid } from "../src/views/head_grid_layout";
import { sortFacts, usedColumns } from "../src/views/head_table";
import { closest, visions } from "./color_vision";

const column = (name: string, values: (string | number | null)[]) => ({ name, values });
const doc: Doc = {
  format: 1,
  title: "t",
  program: "",
  notes: [],
  manifest: { files: {}, commands: {} },
  tables: {
    heads: { rows: 3, columns: [column("head", ["L0H0", "L0H1", "L1H0"]), column("classes", ["", "a", ""])] },
    detectors: {
      rows: 3,
      columns: [column("head", ["L0H0", "L0H1", "L1H0"]), column("detected", ["previous_token", "", "induction"])],
    },
    edges: {
      rows: 2,
      columns: [
        column("pair", ["OK", "OQ"]),
        column("source", ["L0H0", "L0H1"]),
        column("target", ["L1H0", "L1H0"]),
        column("beyond_chance", ["yes", "no"]),
        column("stands_out", ["yes", "no"]),
      ],
    },
    patch: {
      rows: 2,
      columns: [
        column("pair", ["OK", "OQ"]),
        column("source", ["L0H0", "L0H1"]),
        column("target", ["L1H0", "L1H0"]),
        column("effect", [-0.5, 0.1]),
        column("kind", ["chosen", "chosen"]),
      ],
    },
  },
};
const run = new Run(doc, new Blocks({} as Document));

describe("small maps", () => {
  const bytes = new Uint8Array(new Float32Array([1, 0.9, 0.5, 0.5]).buffer);
  const array = new NumberArray({ block: 0, type: "f32", shape: [1, 2, 2] }, bytes);
  const input: Input = {
    name: "x",
    number: 0,
    folder: "",
    tokens: { mask: "causal", heads: ["L0H0"], tokens: [] },
    pattern: { side: 1, queries: 2, keys: 2, maps: { block: 0, type: "f32", shape: [1, 2, 2] } },
  };
  it("leave out what the mask hides", () => {
    const maps = new HeadMaps(input.pattern!, array, null, null);
    const map = attentionOf({ input, maps }, "L0H0")!;
    expect(map.value(0, 1)).toBeNaN();
    expect(map.value(1, 0)).toBe(0.5);
    expect(attentionOf({ input, maps }, "L9H9")).toBeNull();
  });
  it("keep lines of one entry", () => {
    const line = { rows: 100, columns: 100, value: (r: number, c: number) => (c > r ? NaN : c === r - 1 ? 1 : 0) };
    const small = poolMax(line, 28);
    expect([small.rows, small.columns]).toEqual([28, 28]);
    for (let i = 0; i < 28; ++i) expect(small.value(i, i)).toBe(1);
    expect(small.value(0, 27)).toBeNaN();
  });
});

describe("facts of heads", () => {
  const [first, second, third] = headFacts(run) as [
    ReturnType<typeof headFacts>[0],
    ReturnType<typeof headFacts>[0],
    ReturnType<typeof headFacts>[0],
  ];
  const all = { layers: null, detector: "", class_: "", beyond: false, text: "" };
  it("count only edges beyond chance and take the largest effect", () => {
    expect([first.outgoing, second.outgoing, third.incoming]).toEqual([1, 0, 1]);
    expect([first.effect, second.effect, third.effect]).toEqual([-0.5, 0.1, -0.5]);
  });
  it("are filtered", () => {
    const names = (part: object) =>
      headFacts(run)
        .filter((one) => passes(one, { ...all, ...part }))
        .map((one) => one.head.name);
    expect(names({ layers: [1, 1] })).toEqual(["L1H0"]);
    expect(names({ detector: "induction" })).toEqual(["L1H0"]);
    expect(names({ class_: "a" })).toEqual(["L0H1"]);
    expect(names({ beyond: true })).toEqual(["L0H0", "L1H0"]);
    expect(names({ text: "l0h" })).toEqual(["L0H0", "L0H1"]);
  });
  it("are sorted by the size of the effect; columns without values are left out", () => {
    const columns = usedColumns(headFacts(run));
    expect(columns.map((one) => one.name)).not.toContain("gain");
    const by = columns.find((one) => one.name === "effect_when_cut")!;
    expect(sortFacts(headFacts(run), by, false).map((one) => one.head.name)).toEqual(["L0H1", "L0H0", "L1H0"]);
  });
});

describe("grid of heads", () => {
  const heads = Array.from({ length: 64 }, (_, i) => parseHead(`L${i >> 5}H${i & 31}`)!);
  const layers = new Layers(heads);
  it("wraps layers that do not fit", () => {
    const wide = layoutGrid(heads, layers, 1400);
    expect([wide.cell, wide.perLine]).toEqual([42, 32]);
    const narrow = layoutGrid(heads, layers, 390);
    expect([narrow.cell, narrow.perLine]).toEqual([24, 14]);
    const { x, y } = cellPlace(narrow, 15);
    expect(headAt(narrow, 1, x + 1, y + 1)?.name).toBe("L1H15");
  });
  it("labels its columns, those of KV heads too", () => {
    const names = ["L0H0", "L0H1", "L0KV0", "L1H0"].map((name) => parseHead(name)!);
    expect(columnLabels(layoutGrid(names, new Layers(names), 900))).toEqual(["0", "1", "kv0"]);
    expect(columnLabels(layoutGrid(heads, layers, 390)).at(-1)).toBe("13");
  });
  it("moves by arrow keys and stays inside", () => {
    const layout = layoutGrid(heads, layers, 1400);
    expect(moveInGrid(layout, heads[0]!, "ArrowDown")?.name).toBe("L1H0");
    expect(moveInGrid(layout, heads[0]!, "ArrowLeft")?.name).toBe("L0H0");
    expect(moveInGrid(layout, heads[0]!, "x")).toBeNull();
  });
});

describe("terms", () => {
  it("are linked once per sentence, in any form", () => {
    const found = splitTerms("Edges beyond chance: an edge is kept.").filter((part) => part.term);
    expect(found.map((part) => part.text)).toEqual(["Edges", "beyond chance"]);
    expect(findTerm("Hubs")?.word).toBe("hub");
  });
  it("are not linked in quotes", () => {
    const found = splitTerms("Measured on the text \u201ckey token\u201d, a token.").filter((part) => part.term);
    expect(found.map((part) => part.text)).toEqual(["token"]);
  });
  it("are not linked in names of inputs and in ordinary English", () => {
    const linked = (sentence: string) => splitTerms(sentence).flatMap(({ text, term }) => (term ? [text] : []));
    const input = "List: key tower frog. A layer...";
    expect(linked(`Trees and orders are of ${input}, the first of 8 inputs; the gains are over all of them.`)).toEqual([
      "Trees",
      "gains",
    ]);
    expect(linked(`The trees are of one input: ${input}.`)).toEqual(["trees"]);
    expect(linked("Use the arrow keys. Columns are keys.")).toEqual(["keys"]);
    const quoted = splitQuotes("On \u201cL1H2\u201d, L1H2.").filter((part) => part.quoted);
    expect(quoted.map((part) => part.text)).toEqual(["\u201cL1H2\u201d"]);
  });
  it("have one definition each", () => {
    expect(new Set(terms.map((one) => one.word)).size).toBe(terms.length);
  });
});

describe("place in a tree", () => {
  it("lists the sizes of folders and the siblings", () => {
    const tree = { n: 4, order: [2, 0, 3, 1], levels: [[4], [2, 4], [1, 2, 3, 4]], names: ["a", "b", "c", "d"] };
    expect(treePath(tree, "b")).toEqual({ sizes: [4, 2, 1], siblings: ["d"] });
    expect(treePath(tree, "x")).toBeNull();
  });
});

/** Returns the contrast of two colors (WCAG 2). */
function contrast(one: string, other: string): number {
  const luminance = (color: string) => {
    const packed = packColor(color);
    const [r, g, b] = [0, 8, 16].map((shift) => {
      const c = ((packed >>> shift) & 255) / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

describe("contrast", () => {
  it.each([light, dark])("of figures is at least that of WCAG AA: $name", (theme) => {
    for (const color of [...categorical, ...classColors, theme.faint, theme.axis, theme.mark])
      expect(contrast(color, theme.background), color).toBeGreaterThanOrEqual(3);
    for (const color of [theme.ink, theme.muted])
      expect(contrast(color, theme.background), color).toBeGreaterThanOrEqual(4.5);
  });
});

describe("colors with color blindness", () => {
  it.each(visions)("stay apart: %s", (vision) => {
    for (const colors of [categorical, classColors]) {
      const { distance, pair } = closest(colors, vision);
      expect(distance, pair).toBeGreaterThanOrEqual(10);
    }
  });
});
