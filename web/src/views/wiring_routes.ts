import type { Box } from "../draw/axes";
import type { WiringLayout } from "./wiring_layout";

/** A curve in the gap to the right of a column. */
export interface Piece {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  /** Slopes at both ends, and of the straight lines that continue it there. */
  slope1: number;
  slope2: number;
  /** Reach of a bow that begins and ends at the same column; 0 for a curve from left to right. */
  bow: number;
}

/** The line of an edge: pieces per gap from left to right. Straight lines at the columns in between connect them. */
export interface Route {
  /** Ends at the squares of the heads. */
  left: number;
  right: number;
  firstGap: number;
  pieces: Piece[];
}

interface Ends {
  source: string;
  target: string;
}

/** Max distance of lines side by side. */
const lane = 4;
/** Max distance by which lines push each other aside. Many lines get closer rather than take detours. */
const maxSpread = 48;
/** Room between a square and lines that pass it. */
const margin = 1.2;

/**
 * Routes edges so that no line crosses the square of another head, and lines side by side are apart. In a gap between two
 * columns, a line is an S-shaped curve. It passes a column between two squares, as close as possible to the straight line
 * between its ends: sloped where the passage has room for that, otherwise horizontal. A passage without room for another lane is passed over for the nearest one with room. Lines that share
 * a passage, or a side of a square, are spread over it, ordered by where they go. The last edges choose first.
 * Returns null for edges whose ends are not shown. Cost: edges times columns.
 */
export function routeEdges(edges: readonly Ends[], layout: WiringLayout, box: Box): (Route | null)[] {
  const r = layout.radius(box);
  const high = box.height / layout.units;
  const wide = box.width / layout.columns;
  const centerX = (column: number) => box.left + (column + 0.5) * wide;
  const side = Math.min(r + Math.max(2, 0.1 * wide), 0.45 * wide);
  const passagesAt = passagesOf(layout, box, r + margin);

  const drafts = edges.map(({ source, target }) => {
    const a = layout.places.get(source);
    const b = layout.places.get(target);
    if (!a || !b || source === target) return null;
    const [from, to] = a.column <= b.column ? [a, b] : [b, a];
    const y = (row: number) => box.top + (row + 0.5) * high;
    const passes: number[] = [];
    return { from, to, y1: y(from.row), y2: y(to.row), passes, free: [] as [number, number][], p1: 0, p2: 0 };
  });

  const ports = new Spread();
  const passages = new Spread();
  const room = passagesAt.map((column) => column.map(([low, high]) => 1 + Math.floor((high - low) / lane)));
  for (let i = drafts.length - 1; i >= 0; --i) {
    const draft = drafts[i];
    if (!draft) continue;
    const { from, to, y1, y2 } = draft;
    const inner: [number, number] = [-0.75 * r, 0.75 * r];
    ports.add(`${from.column} ${from.row} right`, shift(inner, y1), y1, y2, i, (y) => (draft.p1 = y));
    const end = from.column === to.column ? "right" : "left";
    ports.add(`${to.column} ${to.row} ${end}`, shift(inner, y2), y2, y1, i, (y) => (draft.p2 = y));
    let last = y1;
    for (let column = from.column + 1; column < to.column; ++column) {
      // Straight on from where the line is now, so that it does not return after every detour.
      const ideal = last + (y2 - last) / (to.column - column + 1);
      const passage = nearestPassage(passagesAt[column]!, ideal, room[column]!);
      --room[column]![passage]!;
      const free = passagesAt[column]![passage]!;
      last = Math.min(free[1], Math.max(free[0], ideal));
      draft.free.push(free);
      const k = column - from.column - 1;
      passages.add(`${column} ${passage}`, free, last, ideal, i, (y) => (draft.passes[k] = y));
    }
  }
  ports.settle();
  passages.settle();

  return drafts.map((draft) => {
    if (!draft) return null;
    const { from, to, p1, p2, passes, free } = draft;
    const left = centerX(from.column) + r;
    if (from.column === to.column) {
      const reach = Math.min(0.9 * (wide - 2 * r), 14 + 0.12 * Math.abs(p2 - p1));
      const bow = { x1: left, y1: p1, x2: left, y2: p2, slope1: 0, slope2: 0, bow: reach };
      return { left, right: left, firstGap: from.column, pieces: [bow] };
    }
    const ys = [p1, ...passes, p2];
    const slopes = ys.map((y, k) => {
      const bounds = free[k - 1];
      return bounds && k + 1 < ys.length ? slopeAt(ys[k - 1]!, y, ys[k + 1]!, wide, bounds, side) : 0;
    });
    const pieces: Piece[] = [];
    for (let k = 0; k + 1 < ys.length; ++k)
      pieces.push({
        x1: centerX(from.column + k) + side,
        y1: ys[k]! + slopes[k]! * side,
        x2: centerX(from.column + k + 1) - side,
        y2: ys[k + 1]! - slopes[k + 1]! * side,
        slope1: slopes[k]!,
        slope2: slopes[k + 1]!,
        bow: 0,
      });
    return { left, right: centerX(to.column) - r, firstGap: from.column, pieces };
  });
}

/**
 * Returns the slope of a line that passes a column at height y, between the heights at the columns next to it: that of a
 * smooth curve without a hump, at most what keeps the line inside the passage for `side` pixels on both sides.
 */
function slopeAt(before: number, y: number, after: number, wide: number, [low, high]: [number, number], side: number) {
  const [rise, next] = [(y - before) / wide, (after - y) / wide];
  if (rise * next <= 0) return 0;
  const room = Math.max(0, Math.min(y - low, high - y)) / side;
  const smooth = (2 * rise * next) / (rise + next);
  return Math.sign(smooth) * Math.min(Math.abs(smooth), room);
}

const shift = ([low, high]: [number, number], by: number): [number, number] => [low + by, high + by];

/** Returns the passages between the squares of each column, from top to bottom. */
function passagesOf(layout: WiringLayout, box: Box, r: number): [number, number][][] {
  const high = box.height / layout.units;
  const rows = Array.from({ length: layout.columns }, () => [] as number[]);
  for (const { column, row } of layout.places.values()) rows[column]?.push(row);
  return rows.map((taken) => {
    const free: [number, number][] = [];
    let low = box.top - 0.2 * high;
    for (const row of taken.sort((a, b) => a - b)) {
      const center = box.top + (row + 0.5) * high;
      if (center - r > low) free.push([low, center - r]);
      low = center + r;
    }
    free.push([low, Math.max(low, box.top + box.height + 0.2 * high)]);
    return free;
  });
}

/** Returns the index of the passage with room that is nearest to a height; the nearest one if none has room. */
function nearestPassage(free: readonly [number, number][], y: number, room: readonly number[]): number {
  const first = nearestOf(free, y);
  if (room[first]! > 0) return first;
  const away = (i: number) => (i in free && room[i]! > 0 ? Math.max(free[i]![0] - y, y - free[i]![1], 0) : Infinity);
  let [up, down] = [first - 1, first + 1];
  while (up >= 0 && room[up]! <= 0) --up;
  while (down < free.length && room[down]! <= 0) ++down;
  if (away(up) === Infinity && away(down) === Infinity) return first;
  return away(up) <= away(down) ? up : down;
}

function nearestOf(free: readonly [number, number][], y: number): number {
  let first = 0;
  let last = free.length - 1;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (free[middle]![1] < y) first = middle + 1;
    else last = middle;
  }
  const below = free[first]![0] - y;
  return first > 0 && below > y - free[first - 1]![1] ? first - 1 : first;
}

/** Lines that share a passage. */
class Spread {
  private readonly groups = new Map<
    string,
    {
      free: [number, number];
      lines: { at: number; order: number; index: number; set: (y: number) => void }[];
    }
  >();

  add(key: string, free: [number, number], at: number, order: number, index: number, set: (y: number) => void): void {
    const group = this.groups.get(key) ?? { free, lines: [] };
    group.lines.push({ at, order, index, set });
    this.groups.set(key, group);
  }

  /** Gives each line its place: where it wants to be, but at least a lane from the next one while there is room. */
  settle(): void {
    for (const { free, lines } of this.groups.values()) {
      const [low, high] = free;
      lines.sort((a, b) => a.order - b.order || a.index - b.index);
      const gap = lines.length > 1 ? Math.min(lane, Math.min(high - low, maxSpread) / (lines.length - 1)) : 0;
      let previous = -Infinity;
      const places = lines.map(({ at }) => (previous = Math.max(at, previous + gap)));
      // What was pushed beyond the end moves back, and pushes its neighbors.
      let limit = high;
      for (let i = places.length - 1; i >= 0; --i) {
        places[i] = Math.max(low, Math.min(places[i]!, limit));
        limit = places[i]! - gap;
      }
      // Lines around one place are centered on it.
      const wanted = lines.reduce((sum, { at }) => sum + at, 0) / lines.length;
      const mean = places.reduce((sum, y) => sum + y, 0) / places.length;
      const back = Math.min(Math.max(0, mean - wanted), Math.max(0, (places[0] ?? low) - low));
      lines.forEach((line, i) => line.set(places[i]! - back));
    }
  }
}

/** Returns the point of a piece at t in 0 .. 1. */
export function piecePoint(piece: Piece, t: number): { x: number; y: number } {
  const { x1, y1, x2, y2 } = piece;
  const a = (1 - t) ** 3;
  const b = 3 * t * (1 - t) ** 2;
  const c = 3 * t ** 2 * (1 - t);
  const d = t ** 3;
  const [c1, c2] = handles(piece);
  return { x: a * x1 + b * c1.x + c * c2.x + d * x2, y: a * y1 + b * c1.y + c * c2.y + d * y2 };
}

/** Returns the two control points of a piece. */
function handles({ x1, y1, x2, y2, slope1, slope2, bow }: Piece): [{ x: number; y: number }, { x: number; y: number }] {
  const reach = bow > 0 ? bow : (x2 - x1) / 2;
  const sign = bow > 0 ? 1 : -1;
  return [
    { x: x1 + reach, y: y1 + slope1 * reach },
    { x: x2 + sign * reach, y: y2 - slope2 * reach },
  ];
}

/** Returns a route as an SVG path, moved by (dx, dy). */
export function routePath(route: Route, dx = 0, dy = 0): string {
  const at = (x: number, y: number) => `${(x + dx).toFixed(1)},${(y + dy).toFixed(1)}`;
  const parts = [`M${at(route.left, route.pieces[0]!.y1)}`];
  for (const piece of route.pieces) {
    const [c1, c2] = handles(piece);
    parts.push(`L${at(piece.x1, piece.y1)}C${at(c1.x, c1.y)} ${at(c2.x, c2.y)} ${at(piece.x2, piece.y2)}`);
  }
  const last = route.pieces.at(-1)!;
  if (last.bow === 0) parts.push(`L${at(route.right, last.y2)}`);
  return parts.join("");
}

/** Finds the line under the pointer. A point is in one gap, so only the pieces of that gap are compared. */
export class RouteIndex {
  private readonly gaps = new Map<number, { piece: Piece; index: number }[]>();

  constructor(
    routes: readonly (Route | null)[],
    private readonly columns: number,
    private readonly box: Box,
  ) {
    routes.forEach((route, index) =>
      route?.pieces.forEach((piece, k) => {
        const gap = this.gaps.get(route.firstGap + k) ?? [];
        gap.push({ piece, index });
        this.gaps.set(route.firstGap + k, gap);
      }),
    );
  }

  /** Returns the index of the nearest line within `reach`; -1 if there is none. Of equals, the last one is on top. */
  nearest(x: number, y: number, reach: number): number {
    const gap = Math.floor(((x - this.box.left) / this.box.width) * this.columns - 0.5);
    let best = -1;
    let least = reach;
    for (const { piece, index } of this.gaps.get(gap) ?? []) {
      // The straight lines at the columns reach at most half a column beyond the piece.
      const beyond = (Math.max(Math.abs(piece.slope1), Math.abs(piece.slope2)) * this.box.width) / this.columns / 2;
      const room = reach + beyond;
      if (y < Math.min(piece.y1, piece.y2) - room || y > Math.max(piece.y1, piece.y2) + room) continue;
      const distance = pieceDistance(piece, x, y);
      if (distance <= least) [best, least] = [index, distance];
    }
    return best;
  }
}

function pieceDistance(piece: Piece, x: number, y: number): number {
  const { x1, y1, x2, y2, slope1, slope2, bow } = piece;
  if (bow === 0 && x <= x1) return Math.abs(y - y1 - slope1 * (x - x1));
  if (bow === 0 && x >= x2) return Math.abs(y - y2 - slope2 * (x - x2));
  const steps = 16;
  let least = Infinity;
  let before = piecePoint(piece, 0);
  for (let i = 1; i <= steps; ++i) {
    const next = piecePoint(piece, i / steps);
    least = Math.min(least, segmentDistance(before, next, x, y));
    before = next;
  }
  return least;
}

function segmentDistance(a: { x: number; y: number }, b: { x: number; y: number }, x: number, y: number): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const t = Math.min(1, Math.max(0, ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(a.x + t * dx - x, a.y + t * dy - y);
}
