/** Figures draw on a surface: a canvas on the screen, an SVG for export and print. Units are CSS pixels. */
export interface Surface {
  /** True on the screen, where another canvas may be underneath; false for a file or for print. */
  readonly screen: boolean;
  rect(x: number, y: number, width: number, height: number, style: ShapeStyle & { radius?: number }): void;
  line(x1: number, y1: number, x2: number, y2: number, style: StrokeStyle): void;
  circle(x: number, y: number, radius: number, style: ShapeStyle): void;
  /** `d` is an SVG path. */
  path(d: string, style: ShapeStyle): void;
  text(text: string, x: number, y: number, style?: TextStyle): void;
  /** Fills a rectangle with a grid of colored cells. */
  cells(cells: Cells, x: number, y: number, width: number, height: number): void;
  /** Calls `draw`; what it draws outside of a rectangle is cut off. */
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
  /** Calls `draw`. On the screen, reuses the cached drawing while key and size are unchanged. */
  layer(cache: LayerCache, key: string, draw: (s: Surface) => void): void;
  /** Returns the width of a text. */
  measure(text: string, size: number, weight?: number): number;
}

/** Cache of one drawing, which is kept from the second time on that it is drawn with the same key. */
export class LayerCache {
  key = "";
  /** The key of the last drawing. */
  last = "";
  canvas: HTMLCanvasElement | null = null;
}

export interface StrokeStyle {
  stroke: string;
  width?: number;
  dash?: number[];
  opacity?: number;
}
export interface ShapeStyle {
  fill?: string;
  stroke?: string;
  width?: number;
  dash?: number[];
  opacity?: number;
}
export interface TextStyle {
  fill?: string;
  size?: number;
  anchor?: "start" | "middle" | "end";
  baseline?: "top" | "middle" | "bottom";
  weight?: number;
  /** Degrees, around the point (x, y). */
  rotate?: number;
  opacity?: number;
}

/** rows x columns colors as 0xAABBGGRR (bytes R, G, B, A in memory). 0 is transparent. */
export interface Cells {
  rows: number;
  columns: number;
  colors: Uint32Array;
}

export const fontFamily = `-apple-system, "Segoe UI", Inter, Roboto, "Helvetica Neue", "Liberation Sans", Arial, system-ui, sans-serif`;
export const fontSize = 12;
