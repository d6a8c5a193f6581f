import { scaleLinear, scaleLog } from "d3-scale";
import type { Theme } from "../ui/theme";
import type { Ramp } from "./color";
import type { Surface } from "./surface";

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Returns the index of the box that contains a point, or -1. */
export function boxAt(boxes: Box[], x: number, y: number): number {
  return boxes.findIndex(
    (box) => x >= box.left && x < box.left + box.width && y >= box.top && y < box.top + box.height,
  );
}

export interface Scale {
  (value: number): number;
  ticks: number[];
  format: (value: number) => string;
}

export function linearScale(domain: [number, number], range: [number, number], count = 5): Scale {
  const scale = scaleLinear().domain(domain).range(range);
  return Object.assign((value: number) => scale(value), { ticks: scale.ticks(count), format: scale.tickFormat(count) });
}

/** Ticks at powers of ten, thinned to about `count`. Both ends must be positive. */
export function logScale(domain: [number, number], range: [number, number], count = 6): Scale {
  const scale = scaleLog().domain(domain).range(range);
  const first = Math.ceil(Math.log10(domain[0]) - 1e-9);
  const last = Math.floor(Math.log10(domain[1]) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / count));
  const ticks = [];
  for (let power = first; power <= last; power += step) ticks.push(10 ** power);
  return Object.assign((value: number) => scale(value), { ticks, format: formatPower });
}

/** Formats a power of ten: 0.01, 1, 100; 10^-5 as 1e-5. */
export function formatPower(value: number): string {
  const power = Math.round(Math.log10(value));
  if (power >= -3 && power <= 4)
    return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 4 });
  return `1e${power}`;
}

/** Formats a number with `digits` significant digits, without trailing zeros. */
export function formatNumber(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "\u2013";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e") as [string, string];
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  return size >= 1000 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(digits)));
}

/** Formats a change with its sign: "+0.12". */
export function signed(value: number): string {
  return value > 0 ? `+${formatNumber(value)}` : formatNumber(value);
}

/** Formats a number for a sentence: two significant digits, "0.00008" rather than "8e-5". */
export const plainNumber = (value: number) => String(Number(value.toPrecision(2)));

/** Draws the axes of a plot: ticks and labels on the left and at the bottom, and horizontal grid lines. */
export function drawAxes(
  s: Surface,
  box: Box,
  x: Scale,
  y: Scale,
  labels: { x: string; y: string },
  theme: Theme,
): void {
  const bottom = box.top + box.height;
  for (const tick of y.ticks) {
    s.line(box.left, y(tick), box.left + box.width, y(tick), { stroke: theme.grid });
    s.text(y.format(tick), box.left - 8, y(tick), { anchor: "end", baseline: "middle", fill: theme.muted });
  }
  for (const tick of x.ticks) {
    s.line(x(tick), bottom, x(tick), bottom + 4, { stroke: theme.axis });
    s.text(x.format(tick), x(tick), bottom + 8, { anchor: "middle", baseline: "top", fill: theme.muted });
  }
  s.line(box.left, bottom, box.left + box.width, bottom, { stroke: theme.axis });
  s.text(labels.x, box.left + box.width / 2, bottom + 40, { anchor: "middle", fill: theme.ink });
  s.text(labels.y, 14, box.top + box.height / 2, { anchor: "middle", fill: theme.ink, rotate: -90 });
}

/** Draws a color bar, 36 pixels high, with its label above and the values of its ends below. */
export function drawColorBar(
  s: Surface,
  x: number,
  y: number,
  label: string,
  ends: [string, string],
  ramp: Ramp,
  theme: Theme,
  width = 150,
): void {
  s.text(label, x, y + 10, { fill: theme.ink, size: 11 });
  const steps = 64;
  for (let i = 0; i < steps; ++i)
    s.rect(x + (i * width) / steps, y + 16, width / steps + 0.6, 8, { fill: ramp(i / (steps - 1)) });
  s.text(ends[0], x, y + 36, { fill: theme.muted, size: 11 });
  s.text(ends[1], x + width, y + 36, { fill: theme.muted, size: 11, anchor: "end" });
}

/** An entry of a legend: a line, a square, or, as `heading`, the title of the entries that follow in a row of their own. */
export interface LegendEntry {
  label: string;
  color?: string;
  line?: boolean;
  dash?: number[];
  width?: number;
  opacity?: number;
  heading?: boolean;
}

type Measure = (text: string, size: number) => number;

/** Returns the places of the entries of a legend, wrapped at a width, and its height. */
function layoutLegend(entries: readonly LegendEntry[], width: number, measure: Measure) {
  let [left, top] = [0, 0];
  const places = entries.map(({ label, heading }) => {
    const size = heading ? measure(label, 12) + 12 : 22 + measure(label, 12) + 16;
    if (left > 0 && (heading || left + size > width)) [left, top] = [0, top + 18];
    const place = { left, top };
    left += size;
    return place;
  });
  return { places, height: top + 18 };
}

/** Returns the height of a legend that `drawLegend` would draw. */
export function legendHeight(entries: readonly LegendEntry[], width: number, measure: Measure): number {
  return layoutLegend(entries, width, measure).height;
}

/** Draws a legend in rows, wrapped at a width. Returns the height used. */
export function drawLegend(
  s: Surface,
  x: number,
  y: number,
  width: number,
  entries: readonly LegendEntry[],
  theme: Theme,
): number {
  const { places, height } = layoutLegend(entries, width, (text, size) => s.measure(text, size));
  entries.forEach((entry, i) => {
    const [left, top] = [x + places[i]!.left, y + places[i]!.top];
    const { color = theme.ink, dash, opacity } = entry;
    const look = { ...(dash ? { dash } : {}), ...(opacity === undefined ? {} : { opacity }) };
    if (entry.heading) {
      s.text(entry.label, left, top + 11, { fill: theme.muted });
      return;
    }
    if (entry.line) s.line(left, top + 7, left + 16, top + 7, { stroke: color, width: entry.width ?? 2.5, ...look });
    // The rim makes light colors visible.
    else s.rect(left + 2, top + 2, 11, 11, { fill: color, radius: 2, stroke: theme.axis });
    s.text(entry.label, left + 22, top + 11, { fill: theme.ink });
  });
  return height;
}
