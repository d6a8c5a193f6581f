import { describe, expect, it } from "vitest";
import { Blocks } from "../src/data/blocks";
import { componentEdges, componentTitle, otherNames, parseComponent } from "../src/data/components";
import type { Doc } from "../src/data/doc";
import { parseHead } from "../src/data/head";
import { Layers } from "../src/data/layers";
import { Run, type Edge } from "../src/data/run";
import type { EdgeFilter } from "../src/ui/store";
import { columnPixels, wrapText } from "../src/ui/export_column";
import { panBy, zoomAround } from "../src/ui/zoom";
import { edgeWidth, lineScale, maxWidth, minWidth, strength, widthLegend } from "../src/views/edge_width";
import { wantedHeads, filterEdges, filterNote } from "../src/views/edges";
import { WiringLayout } from "../src/views/wiring_layout";
import { piecePoint, RouteIndex, routeEdges, routePath, type Route } from "../src/views/wiring_routes";

const column = (name: string, values: (string | number | null)[]) => ({ name, values });
const doc: Doc = {
  format: 1,
  title: "t",
  program: "",
  notes: [],
  manifest: { files: {}, commands: {} },
  tables: {
    detectors: {
      rows: 2,
      columns: [
        column("head", ["L0H0", "L2H1"]),
        column("induction", [0.1, 0.9]),
        column("detected", ["", "induction"]),
      ],
    },
    edges: {
      rows: 3,
      columns: [
        column("pair", ["OQ", "OK", "OK"]),
        column("source", ["L0H0", "L0H1", "L1H0"]),
        column("target", ["L1H0", "L2H1", "L2H0"]),
        column("score", [2, 3, 1]),
        column("rank", [1, 1, 2]),
        column("z_matched", [50, 9, 2]),
        column("q_matched", [1e-12, 0.001, 0.5]),
        column("z_span", [5, 4, 1]),
        column("q_span", [0.001, 0.2, 1]),
      ],
    },
    component_edges: {
      rows: 3,
      columns: [
        column("pair", ["OM", "EM", "OQ"]),
        column("source", ["L0H0", "E", "L0H0"]),
        column("target", ["L0M", "L0M", "L1H0"]),
        column("overlap", [2, 3, 1]),
        column("rank", [1, 1, 1]),
        column("z_isotropic", [20, 9, 2]),
        column("z_span", [5, 9, 2]),
        column("q_span", [0.01, 0.2, 1]),
        column("beyond_chance", ["yes", "yes", "no"]),
        column("stands_out", ["yes", "no", "no"]),
      ],
    },
  },
};
const run = new Run(doc, new Blocks({} as Document));
const filter: EdgeFilter = {
  pairs: ["OQ", "OK"],
  top: 2,
  null_: "matched",
  shown: "all",
  layers: null,
  minZ: null,
  maxQ: null,
  ...{ detector: "", class_: "", name: "", linked: false },
};
const layersOf = (count: number) => new Layers([{ block: "", layer: count - 1 }]);
const targets = (part: Partial<EdgeFilter>) =>
  filterEdges(run, run.edges, { ...filter, ...part }, wantedHeads(run, { ...filter, ...part }))
    .map((edge) => edge.target)
    .sort();

describe("the filter of edges", () => {
  it("keeps edges with both ends in the layers", () => {
    expect(targets({ layers: [0, 1] })).toEqual(["L1H0"]);
    expect(targets({ layers: [1, 2] })).toEqual(["L2H0"]);
    expect(targets({ layers: [0, 2] })).toHaveLength(3);
  });
  it("has a min of z under the chosen null and a max of q under all nulls", () => {
    expect(targets({ minZ: 9 })).toEqual(["L1H0", "L2H1"]);
    expect(targets({ minZ: 4.5, null_: "span" })).toEqual(["L1H0"]);
    expect(targets({ maxQ: 0.05 })).toEqual(["L1H0"]);
  });
  it("keeps edges with an end that the detector found", () => {
    expect(targets({ detector: "induction" })).toEqual(["L2H1"]);
    expect(targets({ detector: "nothing" })).toEqual([]);
  });
  it("is stated in words", () => {
    expect(filterNote(run, { ...filter, layers: [1, 2], maxQ: 0.05, shown: "out" })).toBe(
      "Null: matched; roles OQ, OK; edges that stand out, at most 2 per pair of roles; layers 1 to 2; q \u2264 0.05",
    );
  });
});

describe("the width of an edge", () => {
  it("depends on its value alone, within fixed ends", () => {
    expect(edgeWidth(3, "matched")).toBe(minWidth);
    expect(edgeWidth(-5, "matched")).toBe(minWidth);
    expect(edgeWidth(NaN, "matched")).toBe(minWidth);
    expect(edgeWidth(100, "matched")).toBeCloseTo(maxWidth, 10);
    expect(edgeWidth(1e6, "span")).toBe(maxWidth);
    const widths = [3, 10, 30, 100].map((z) => edgeWidth(z, "matched"));
    for (let i = 1; i < widths.length; ++i) expect(widths[i]! - widths[i - 1]!).toBeGreaterThan(1);
    expect(edgeWidth(1, "")).toBeCloseTo((minWidth + maxWidth) / 2, 10);
  });
  it("is smaller in narrow figures, as in their legend", () => {
    expect([lineScale(28), lineScale(14), lineScale(1)]).toEqual([1, 0.5, 0.3]);
    expect(widthLegend("span", "#000000", 0.5)[2]!.width).toBeCloseTo(maxWidth / 2, 10);
  });
  it("is labeled", () => {
    expect(widthLegend("span", "#000000").map((one) => one.label)).toEqual(["\u2264 3", "20", "\u2265 100"]);
    expect(widthLegend("", "#000000")[0]!.label).toBe("\u2264 0.1");
  });
});

describe("the rotary key that heads share", () => {
  const wired: Doc = {
    ...doc,
    tables: {
      ...doc.tables,
      component_edges: {
        rows: 3,
        columns: [
          column("pair", ["OR", "MR", "ER"]),
          column("source", ["L0H0", "L0M", "E"]),
          column("target", ["L1R", "L1R", "L0R"]),
          column("overlap", [2, 3, 4]),
          column("rank", [1, 1, 1]),
          column("beyond_chance", ["yes", "yes", "yes"]),
          column("stands_out", ["no", "no", "no"]),
        ],
      },
    },
  };
  it("is an end of edges, and no MLP", () => {
    const edges = componentEdges(new Run(wired, new Blocks({} as Document)));
    expect(edges.map((edge) => `${edge.source} ${edge.target}`)).toEqual(["L0H0 L1R", "L0M L1R"]);
    expect(parseComponent("L1R")).toEqual({ layer: 1, kind: "R" });
    expect(componentTitle("L1R")).toBe("Rotary key that the heads of layer 1 share");
    expect(componentTitle("L1M")).toBe("MLP of layer 1");
    expect(otherNames(["L0H0", "L1R"])).toBe("shared rotary keys");
    expect(otherNames(["L0M", "L1R"])).toBe("MLPs and shared rotary keys");
    for (const name of ["L1M3", "E", "L1H0", "L1X"]) expect(parseComponent(name)).toBeNull();
  });
  it("has a row of its own below that of the MLP", () => {
    const layout = new WiringLayout([parseHead("L0H0")!], ["L1R", "L0M"], layersOf(2), false);
    expect([...layout.componentRows]).toEqual([
      ["M", 2],
      ["R", 3],
    ]);
    expect(layout.places.get("L1R")).toEqual({ column: 1, row: 3 });
    expect(layout.units).toBe(4);
    const keys = new WiringLayout([parseHead("L0H0")!], ["L1R"], layersOf(2), false);
    expect(keys.places.get("L1R")).toEqual({ column: 1, row: 2 });
  });
});

describe("edges of MLPs", () => {
  const found = componentEdges(run);
  it("are those between heads and MLPs", () => {
    expect(found.map((edge) => [edge.pair, edge.source, edge.target, edge.standing])).toEqual([
      ["OM", "L0H0", "L0M", "out"],
    ]);
  });
  it("use the span null if there is no other", () => {
    expect(strength(found[0]!, { null_: "matched" })).toBe(5);
    expect(strength(found[0]!, { null_: "" })).toBe(2);
  });
});

/** Returns a seeded random number generator (mulberry32). */
function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
type Ends = Pick<Edge, "source" | "target">;
function randomEdges(layers: number, heads: number, count: number): Ends[] {
  const next = random(7);
  const pick = (n: number) => Math.floor(next() * n);
  return Array.from({ length: count }, () => {
    const a = pick(layers - 1);
    const b = a + 1 + pick(layers - a - 1);
    return { source: `L${a}H${pick(heads)}`, target: `L${b}H${pick(heads)}` };
  });
}
/** Returns points on a route, also on its straight parts. */
function points(route: Route): { x: number; y: number }[] {
  const all = [{ x: route.left, y: route.pieces[0]!.y1 }];
  for (const piece of route.pieces) for (let i = 0; i <= 40; ++i) all.push(piecePoint(piece, i / 40));
  all.push({ x: route.right, y: route.pieces.at(-1)!.y2 });
  return all.flatMap((point, i) => {
    const before = all[Math.max(0, i - 1)]!;
    return [{ x: (point.x + before.x) / 2, y: (point.y + before.y) / 2 }, point];
  });
}
/** Returns the names of other heads whose squares a route runs through. */
function crossed(route: Route, edge: Ends, layout: WiringLayout, box: Parameters<typeof routeEdges>[2]): string[] {
  const r = layout.radius(box);
  return points(route).flatMap(({ x, y }) => {
    const name = layout.at(x, y, box);
    const at = name && layout.center(name, box);
    if (!name || !at || name === edge.source || name === edge.target) return [];
    return Math.abs(at.x - x) < r - 1e-6 && Math.abs(at.y - y) < r - 1e-6 ? [name] : [];
  });
}

describe("routes", () => {
  const headsOf = (layers: number, heads: number) =>
    Array.from({ length: layers * heads }, (_, i) => parseHead(`L${Math.floor(i / heads)}H${i % heads}`)!);
  for (const [layers, heads, count] of [
    [6, 8, 200],
    [32, 32, 1500],
    [64, 80, 3000],
  ] as const) {
    for (const folded of [false, true]) {
      it(`of ${count} edges do not cross other heads of ${layers} x ${heads}${folded ? ", folded" : ""}`, () => {
        const edges = randomEdges(layers, heads, count);
        const ends = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
        const all = headsOf(layers, heads).filter((head) => !folded || ends.has(head.name));
        const layout = new WiringLayout(all, [], layersOf(layers), folded);
        const box = { left: 0, top: 0, width: 1100, height: layout.units * 15 };
        const begin = performance.now();
        const routes = routeEdges(edges, layout, box);
        expect(performance.now() - begin).toBeLessThan(2000);
        routes.forEach((route, i) => expect(crossed(route!, edges[i]!, layout, box), routePath(route!)).toEqual([]));
      });
    }
  }
  const layout = new WiringLayout(headsOf(4, 3), ["L0M", "L1M"], layersOf(4), false);
  const box = { left: 0, top: 0, width: 800, height: 300 };
  it("of the same two heads are apart all the way", () => {
    const routes = routeEdges(Array(3).fill({ source: "L0H1", target: "L3H1" }), layout, box).map((route) => route!);
    for (let k = 0; k < 3; ++k) {
      const ys = routes.map((route) => [route.pieces[k]!.y1, route.pieces[k]!.y2]);
      for (const end of [0, 1]) {
        const sorted = ys.map((one) => one[end]!).sort((a, b) => a - b);
        expect(sorted[1]! - sorted[0]!).toBeGreaterThan(2);
        expect(sorted[2]! - sorted[1]!).toBeGreaterThan(2);
      }
    }
  });
  it("do not go down in steps where columns are free", () => {
    const free = new WiringLayout(
      ["L0H0", "L9H9"].map((name) => parseHead(name)!),
      [],
      layersOf(10),
      false,
    );
    const all = { left: 0, top: 0, width: 1000, height: 300 };
    const [route] = routeEdges([{ source: "L0H0", target: "L9H9" }], free, all);
    for (const { slope2 } of route!.pieces.slice(0, -1)) expect(slope2).toBeGreaterThan(0.1);
  });
  it("within a layer are bows beside the column", () => {
    const edge = { source: "L1H0", target: "L1M" };
    const [route] = routeEdges([edge], layout, box);
    expect(crossed(route!, edge, layout, box)).toEqual([]);
    expect(route!.pieces[0]!.bow).toBeGreaterThan(0);
  });
  it("are left out if an end is not shown", () => {
    expect(routeEdges([{ source: "L9H9", target: "L0H0" }], layout, box)).toEqual([null]);
  });
  it("are found by the pointer in less than 5 ms", () => {
    const edges = randomEdges(64, 80, 3000);
    const large = new WiringLayout(headsOf(64, 80), [], layersOf(64), false);
    const all = { left: 0, top: 0, width: 1100, height: 1200 };
    const routes = routeEdges(edges, large, all);
    const index = new RouteIndex(routes, 64, all);
    const begin = performance.now();
    for (let i = 0; i < 200; ++i) index.nearest((i * 37) % 1100, (i * 53) % 1200, 6);
    expect((performance.now() - begin) / 200).toBeLessThan(5);
    const { x, y } = piecePoint(routes[5]!.pieces[0]!, 0.5);
    expect(index.nearest(x, y, 6)).toBeGreaterThanOrEqual(0);
    expect(index.nearest(-50, -50, 6)).toBe(-1);
  });
});

describe("folded heads", () => {
  const layout = new WiringLayout(
    ["L0H7", "L0H30", "L2H5"].map((name) => parseHead(name)!),
    [],
    layersOf(3),
    true,
  );
  it("have no empty rows", () => {
    expect(layout.units).toBe(2);
    expect(layout.places.get("L0H30")).toEqual({ column: 0, row: 1 });
  });
  it("are reached with arrow keys", () => {
    expect(layout.step(null, "ArrowDown")).toBe("L0H7");
    expect(layout.step("L0H7", "ArrowDown")).toBe("L0H30");
    expect(layout.step("L0H30", "ArrowRight")).toBe("L2H5");
    expect(layout.step("L2H5", "ArrowRight")).toBe("L2H5");
    expect(layout.step("L0H7", "x")).toBeNull();
  });
});

describe("zoom", () => {
  it("keeps the point under the pointer", () => {
    const zoom = zoomAround(null, 4, 0.5, 0.25)!;
    expect(zoom.x + 0.5 / zoom.factor).toBeCloseTo(0.5, 10);
    expect(zoom.y + 0.25 / zoom.factor).toBeCloseTo(0.25, 10);
    expect(zoomAround(zoom, 0.1, 0, 0)).toBeNull();
    expect(zoomAround(zoom, 1e9, 0, 0)!.factor).toBe(64);
  });
  it("cannot leave the figure", () => {
    const zoom = zoomAround(null, 2, 0, 0)!;
    expect(panBy(zoom, 1, 1)).toEqual(zoom);
    expect(panBy(zoom, -5, 0)!.x).toBe(0.5);
    expect(panBy(null, 1, 1)).toBeNull();
  });
});

describe("files for papers", () => {
  it("have the width of a column", () => {
    expect([columnPixels("one"), columnPixels("two")]).toEqual([333, 680]);
  });
  it("have a caption in lines", () => {
    expect(wrapText("a bb  ccc d", 5, (text) => text.length)).toEqual(["a bb", "ccc d"]);
    expect(wrapText("", 5, (text) => text.length)).toEqual([]);
  });
});
