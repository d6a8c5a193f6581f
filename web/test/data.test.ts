import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { NumberArray } from "../src/data/array";
import { fromBase64, inflate } from "../src/data/blocks";
import { compareHeads, parseHead } from "../src/data/head";
import { Table, toCsv } from "../src/data/table";
import { endsWithin, nestFolders, openAtFirst } from "../src/data/tree";
import { largest, least } from "../src/data/stats";

describe("blocks", () => {
  it("read back what the program wrote", async () => {
    const text = "</script> \u05e9 \u{1f600}".repeat(50);
    const packed = deflateSync(Buffer.from(text)).toString("base64");
    expect(new TextDecoder().decode(await inflate(fromBase64(packed)))).toBe(text);
  });
});

describe("NumberArray", () => {
  const u8 = (bytes: number[], extra: object) =>
    new NumberArray({ block: 0, type: "u8", shape: [bytes.length], ...extra }, Uint8Array.from(bytes));

  it("scales codes between low and high, and leaves out the one for nothing", () => {
    const array = u8([0, 127, 254, 255], { low: [-1], high: [3], power: 1 });
    expect([array.at(0), array.at(1), array.at(2)]).toEqual([-1, 1, 3]);
    expect(array.at(3)).toBeNaN();
  });
  it("squares where the power says so", () => {
    expect(u8([127], { low: [0], high: [1], power: 2 }).at(0)).toBeCloseTo(0.25, 10);
  });
  it("keeps a scale for every slice", () => {
    const packed = { block: 0, type: "u16" as const, shape: [2, 2], low: [0, 10], high: [1, 20], power: 1 };
    const array = new NumberArray(packed, new Uint8Array(Uint16Array.from([0, 65534, 0, 65534]).buffer));
    expect([0, 1, 2, 3].map((i) => array.at(i))).toEqual([0, 1, 10, 20]);
    expect(array.range(3)).toEqual({ low: 10, high: 20 });
  });
  it("refuses a block of another size", () => {
    expect(() => u8([1, 2, 3], { shape: [4] })).toThrow("3 bytes for 4 numbers");
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
  it("tell numbers from text and gaps", () => {
    expect(table.numericColumns()).toEqual(["a"]);
    expect(table.number("a", 1)).toBeNaN();
    expect(table.number("nothing", 0)).toBeNaN();
    expect(table.text("b", 0)).toBe("x");
  });
  it("become CSV that a spreadsheet does not run", () => {
    const csv = toCsv(
      ["t", "n"],
      [
        ["=1+1", 2],
        ['say "a,b"\n', NaN],
        ["-x", -3],
        [null, 0],
      ],
    );
    expect(csv).toBe(`t,n\n'=1+1,2\n"say ""a,b""\n",\n'-x,-3\n,0\n`);
  });
});

describe("heads", () => {
  it("are parsed as the program names them", () => {
    expect(parseHead("L4H10")).toMatchObject({ layer: 4, number: 10, kv: false });
    expect(parseHead("L4KV1")).toMatchObject({ kv: true });
    for (const name of ["L4", "l4h1", "L-1H2", "L1H2 ", "<b>", "network"]) expect(parseHead(name)).toBeNull();
  });
  it("stand by layer, query heads first", () => {
    const heads = ["L1H0", "L0KV0", "L0H10", "L0H9"].map((name) => parseHead(name)!);
    expect(heads.sort(compareHeads).map((head) => head.name)).toEqual(["L0H9", "L0H10", "L0KV0", "L1H0"]);
  });
});

describe("trees", () => {
  // {3 0} {1 2}, and below {3 0} stays whole for a level.
  const packed = { n: 4, order: [3, 0, 1, 2], levels: [[4], [2, 4], [2, 3, 4], [1, 2, 3, 4]] };
  it("nest, without folders that only repeat the one above", () => {
    const root = nestFolders(packed);
    expect(root.elements).toEqual([3, 0, 1, 2]);
    expect(root.children.map((child) => child.elements)).toEqual([
      [3, 0],
      [1, 2],
    ]);
    expect(root.children[0]!.children.map((child) => child.elements)).toEqual([[3], [0]]);
    expect(root.children[1]!.children.map((child) => child.elements)).toEqual([[1], [2]]);
  });
  it("hold every element once at the bottom", () => {
    const leaves = (folder: ReturnType<typeof nestFolders>): number[] =>
      folder.children.length === 0 ? folder.elements : folder.children.flatMap(leaves);
    expect(leaves(nestFolders(packed)).sort()).toEqual([0, 1, 2, 3]);
  });
  it("of one element are one folder", () => {
    expect(nestFolders({ n: 1, order: [0], levels: [[1]] }).children).toEqual([]);
  });
  it("open no more lines than asked for", () => {
    const root = nestFolders(packed);
    expect([...openAtFirst(root, 2)]).toEqual([root.id]);
    expect(openAtFirst(root, Infinity).size).toBe(3);
  });
  it("find ends within a folder", () => {
    expect(endsWithin([2, 3, 4], 2, 4)).toEqual([3, 4]);
    expect(endsWithin(undefined, 0, 1)).toEqual([]);
  });
});

describe("extremes", () => {
  it("of more numbers than a call has arguments for", () => {
    const many = Float64Array.from({ length: 1_000_000 }, (_, i) => i);
    expect([least(many), largest(many)]).toEqual([0, 999_999]);
    expect([least([]), largest([])]).toEqual([Infinity, -Infinity]);
    expect(largest([NaN, 1])).toBe(1);
  });
});
