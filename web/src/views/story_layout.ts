import type { EdgeKey } from "../data/edge_key";
import { compareRun, parseHead, type BlockLayer } from "../data/head";
import { mean } from "../data/stats";

export interface Place {
  x: number;
  y: number;
}

/** Where the picture of the story has its heads. `size`: side of their squares. `right`: right end of the last column. */
export interface StoryLayout {
  places: Map<string, Place>;
  size: number;
  height: number;
  right: number;
  /** Whether every column is a layer. */
  byLayer: boolean;
}

/** Space for the margins at both sides. */
const sides = 30;
/** Max distance of columns. Longer lines are hard to follow. */
const maxStep = 620;

const layerOf = (name: string): BlockLayer => parseHead(name) ?? { block: "", layer: 0 };
const inOneLayer = (a: string, b: string) => compareRun(layerOf(a), layerOf(b)) === 0;

/**
 * Places the heads of a circuit, earlier ones left of later ones: one column per layer if the width has room for that;
 * otherwise in as few columns as possible, such that every edge still leads to the right. `wide`: the picture has notes
 * under the names and numbers on the lines. `mapped`: the squares contain maps.
 */
export function layoutStory(edges: readonly EdgeKey[], width: number, wide: boolean, mapped: boolean): StoryLayout {
  const heads = [...new Set(edges.flatMap(({ source, target }) => [source, target]))];
  const sorted = [...heads].sort((a, b) => compareRun(layerOf(a), layerOf(b)));
  const layers = sorted.filter((name, i) => i === 0 || !inOneLayer(name, sorted[i - 1]!));
  const byLayer = layers.length * (wide ? 150 : 62) <= width;
  const columns = byLayer
    ? layers.map((first) => heads.filter((name) => inOneLayer(name, first)))
    : byDepth(heads, edges);
  const rows = Math.max(...columns.map((names) => names.length));
  const largest = !mapped ? 34 : rows > 4 ? 72 : 110;
  const size = Math.max(34, Math.min(largest, (width - sides - 10) / columns.length / (wide ? 2.1 : 1.7)));
  const pitch = size + (wide ? 64 : 44);
  const step = Math.min(maxStep, (width - size - sides) / Math.max(1, columns.length - 1));
  const places = new Map<string, Place>();
  columns.forEach((names, column) => {
    const above = (rows - names.length) / 2;
    // Odd columns are lower, so that lines over a column pass between its heads.
    const shift = names.length === rows ? 0 : column % 2 === 0 ? -0.22 : 0.22;
    const x = sides / 2 + size / 2 + column * step;
    names.forEach((name, row) => places.set(name, { x, y: 24 + size / 2 + Math.max(0, above + row + shift) * pitch }));
  });
  const right = Math.max(...[...places.values()].map(({ x }) => x)) + size / 2;
  return { places, size, height: Math.round(rows * pitch + 52), right, byLayer };
}

/** Returns a point of the curve between two places that begins and ends horizontally, at t in 0 .. 1. */
export function between(from: Place, to: Place, t: number): Place {
  const across = 1.5 * t - 1.5 * t ** 2 + t ** 3;
  const along = 3 * t ** 2 - 2 * t ** 3;
  return { x: from.x + (to.x - from.x) * across, y: from.y + (to.y - from.y) * along };
}

/** Height of a label, with some room above and below it. */
const labelHeight = 20;

/** Where on its line a label may be, best first: next to the target, where the lines of a source have spread out. */
const labelPlaces = [0.78, 0.58, 0.38, 0.68, 0.48, 0.28, 0.88];

/** Returns the middle of each line's label, such that labels overlap as little as possible. `half`: half their width. */
export function placeLabels(lines: readonly { from: Place; to: Place; half: number }[]): Place[] {
  const placed: (Place & { half: number })[] = [];
  for (const { from, to, half } of lines) {
    const overlap = ({ x, y }: Place) =>
      placed
        .map(
          (one) => Math.max(0, one.half + half - Math.abs(one.x - x)) * Math.max(0, labelHeight - Math.abs(one.y - y)),
        )
        .reduce((sum, area) => sum + area, 0);
    const candidates = labelPlaces.map((t) => between(from, to, t));
    const best = candidates.reduce((a, b) => (overlap(b) < overlap(a) ? b : a));
    placed.push({ ...best, half });
  }
  return placed.map(({ x, y }) => ({ x, y }));
}

/**
 * Returns columns of heads by the longest chain of edges that leads to them. Heads that nothing leads to are next to the
 * first head that they lead to. Heads of a column are ordered by those that lead to them, so that few lines cross.
 */
function byDepth(heads: readonly string[], edges: readonly EdgeKey[]): string[][] {
  const depth = new Map<string, number>();
  const sorted = [...heads].sort((a, b) => compareRun(layerOf(a), layerOf(b)));
  const at = (name: string) => depth.get(name) ?? 0;
  for (const name of sorted) {
    const sources = edges.filter((edge) => edge.target === name).map((edge) => at(edge.source) + 1);
    depth.set(name, Math.max(0, ...sources));
  }
  for (const name of sorted) {
    if (edges.some((edge) => edge.target === name)) continue;
    depth.set(name, Math.min(...edges.filter((edge) => edge.source === name).map((edge) => at(edge.target))) - 1);
  }
  const columns = Array.from({ length: Math.max(...depth.values()) + 1 }, () => [] as string[]);
  for (const name of heads) columns[at(name)]!.push(name);
  const height = new Map<string, number>();
  for (const names of columns) {
    const wanted = (name: string, row: number) => {
      const sources = edges.filter((edge) => edge.target === name && height.has(edge.source));
      return sources.length > 0 ? mean(sources.map((edge) => height.get(edge.source)!)) : row;
    };
    const places = new Map(names.map((name, row) => [name, wanted(name, row)]));
    names.sort((a, b) => places.get(a)! - places.get(b)!);
    names.forEach((name, row) => height.set(name, row));
  }
  return columns;
}
