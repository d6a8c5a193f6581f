import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { NumberArray } from "../src/data/array";
import { Blocks, fromBase64, inflate } from "../src/data/blocks";
import type { Doc } from "../src/data/doc";
import { compareHeads, parseHead } from "../src/data/head";
import { Run } from "../src/data/run";
import { Table, toCsv } from "../src/data/table";
import { endsWithin, nestFolders, initiallyOpen } from "../src/data/tree";
import { maxOf, minOf } from "../src/data/stats";

describe("blocks", () => {
  it("are decoded from base64 and zlib", async () => {
    const text = "</script> \u05e9 \u{1f600}".repeat(50);
    const packed = deflateSync(Buffer.from(text)).toString("base64");
    expect(new TextDecoder().decode(await inflate(fromBase64(packed)))).toBe(text);
  });
});

describe("NumberArray", () => {
  const u8 = (bytes: number[], extra: object) =>
    new NumberArray({ block: 0, type: "u8", shape: [bytes.length], ...extra }, Uint8Array.from(bytes));

  it("scales codes between low and high, and returns NaN for the code of no value", () => {
    const array = u8([0, 127, 254, 255], { low: [-1], high: [3], power: 1 });
    expect([array.at(0), array.at(1), array.at(2)]).toEqual([-1, 1, 3]);
    expect(array.at(3)).toBeNaN();
  });
  it("applies the power", () => {
    expect(u8([127], { low: [0], high: [1], power: 2 }).at(0)).toBeCloseTo(0.25, 10);
  });
  it("has one scale per slice", () => {
    const packed = { block: 0, type: "u16" as const, shape: [2, 2], low: [0, 10], high: [1, 20], power: 1 };
    const array = new NumberArray(packed, new Uint8Array(Uint16Array.from([0, 65534, 0, 65534]).buffer));
    expect([0, 1, 2, 3].map((i) => array.at(i))).toEqual([0, 1, 10, 20]);
    expect(array.range(3)).toEqual({ low: 10, high: 20 });
  });
  it("rejects a block of the wrong size", () => {
    expect(() => u8([1, 2, 3], { shape: [4] })).toThrow("block has 3 bytes, expected 4");
  });
});

describe("tables", () => {
  const table = new Table({
    rows: 2,
    columns: [
      { name: "a", values: [1, null] },
      { name: "b", values: ["x", ""] },
    ],
  });
  it("distinguish numbers, text and empty cells", () => {
    expect(table.numericColumns()).toEqual(["a"]);
    expect(table.number("a", 1)).toBeNaN();
    expect(table.number("nothing", 0)).toBeNaN();
    expect(table.text("b", 0)).toBe("x");
  });
  it("become CSV without formulas that a spreadsheet would run", () => {
    const csv = toCsv(
      ["t", "n"],
      [
        ["=1+1", 2],
        ['say "a,b"\n', NaN],
        ["-x", -3],
        [null, 0],
        ["digits", 0.123456789],
        ["integer", 12345678],
      ],
    );
    expect(csv).toBe(`t,n\n'=1+1,2\n"say ""a,b""\n",\n'-x,-3\n,0\ndigits,0.123457\ninteger,12345678\n`);
  });
});

describe("heads", () => {
  it("are parsed from their names", () => {
    expect(parseHead("L4H10")).toMatchObject({ layer: 4, index: 10, kv: false });
    expect(parseHead("L4KV1")).toMatchObject({ kv: true });
    for (const name of ["L4", "l4h1", "L-1H2", "L1H2 ", "<b>", "network"]) expect(parseHead(name)).toBeNull();
  });
  it("are ordered by layer, query heads first", () => {
    const heads = ["L1H0", "L0KV0", "L0H10", "L0H9"].map((name) => parseHead(name)!);
    expect(heads.sort(compareHeads).map((head) => head.name)).toEqual(["L0H9", "L0H10", "L0KV0", "L1H0"]);
  });
});

describe("trees", () => {
  // Folders {3 0} and {1 2}. {3 0} is split one level later than {1 2}.
  const packed = { n: 4, order: [3, 0, 1, 2], levels: [[4], [2, 4], [2, 3, 4], [1, 2, 3, 4]] };
  it("are nested, without folders equal to their parent", () => {
    const root = nestFolders(packed);
    expect(root.elements).toEqual([3, 0, 1, 2]);
    expect(root.children.map((child) => child.elements)).toEqual([
      [3, 0],
      [1, 2],
    ]);
    expect(root.children[0]!.children.map((child) => child.elements)).toEqual([[3], [0]]);
    expect(root.children[1]!.children.map((child) => child.elements)).toEqual([[1], [2]]);
  });
  it("contain every element exactly once in the leaves", () => {
    const leaves = (folder: ReturnType<typeof nestFolders>): number[] =>
      folder.children.length === 0 ? folder.elements : folder.children.flatMap(leaves);
    expect(leaves(nestFolders(packed)).sort()).toEqual([0, 1, 2, 3]);
  });
  it("with one element are one folder", () => {
    expect(nestFolders({ n: 1, order: [0], levels: [[1]] }).children).toEqual([]);
  });
  it("open at most the requested number of lines", () => {
    const root = nestFolders(packed);
    expect([...initiallyOpen(root, 2)]).toEqual([root.id]);
    expect(initiallyOpen(root, Infinity).size).toBe(3);
  });
  it("return the ends within a folder", () => {
    expect(endsWithin([2, 3, 4], 2, 4)).toEqual([3, 4]);
    expect(endsWithin(undefined, 0, 1)).toEqual([]);
  });
});

describe("min and max", () => {
  it("work for more numbers than a call can have arguments", () => {
    const many = Float64Array.from({ length: 1_000_000 }, (_, i) => i);
    expect([minOf(many), maxOf(many)]).toEqual([0, 999_999]);
    expect([minOf([]), maxOf([])]).toEqual([Infinity, -Infinity]);
    expect(maxOf([NaN, 1])).toBe(1);
  });
});

describe("the model", () => {
  const named = (commands: Doc["manifest"]["commands"]) =>
    new Run(
      { format: 1, title: "t", program: "", notes: [], manifest: { files: {}, commands } },
      new Blocks({} as Document),
    ).model;
  it("is named as it was given to a command", () => {
    expect(named({ relate: { arguments: ["relate", "models/SmolLM2.gguf", "-o", "run"] } })).toBe("SmolLM2.gguf");
    expect(named({ detect: { arguments: ["detect", "models/demo/"] } })).toBe("demo");
    expect(named({ organize: { arguments: ["organize", "run"] } })).toBe("");
  });
});
