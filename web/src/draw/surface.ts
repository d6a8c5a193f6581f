/** What figures are drawn on: a canvas on the screen, an SVG for export and print. Units are CSS pixels. */
export interface Surface {
  /** On the screen, where something may lie underneath; else for a file or for print. */
  readonly screen: boolean;
  rect(x: number, y: number, width: number, height: number, style: ShapeStyle & { radius?: number }): void;
  line(x1: number, y1: number, x2: number, y2: number, style: StrokeStyle): void;
  circle(x: number, y: number, radius: number, style: ShapeStyle): void;
  /** `d` as in SVG. */
  path(d: string, style: ShapeStyle): void;
  text(text: string, x: number, y: number, style?: TextStyle): void;
  /** Cells of one color each, stretched over a rectangle. */
  cells(cells: Cells, x: number, y: number, width: number, height: number): void;
  /** What `draw` draws, kept on a screen as long as the key and the size stay the same. */
  layer(cache: LayerCache, key: string, draw: (s: Surface) => void): void;
  /** Width a text would have. */
  measure(text: string, size: number, weight?: number): number;
}

/** Holds one drawing. */
export class LayerCache {
  key = "";
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
  /** Degrees, about the point. */
  rotate?: number;
  opacity?: number;
}

/** rows x columns colors, as 0xAABBGGRR (the bytes R, G, B, A in memory). 0 is nothing. */
export interface Cells {
  rows: number;
  columns: number;
  colors: Uint32Array;
}

export const fontFamily = `-apple-system, "Segoe UI", Inter, Roboto, "Helvetica Neue", "Liberation Sans", Arial, system-ui, sans-serif`;
export const fontSize = 12;
