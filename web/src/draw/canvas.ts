import {
  fontFamily,
  fontSize,
  type Cells,
  type LayerCache,
  type ShapeStyle,
  type StrokeStyle,
  type Surface,
  type TextStyle,
} from "./surface";

const baselines = { top: "top", middle: "middle", bottom: "alphabetic" } as const;
const anchors = { start: "left", middle: "center", end: "right" } as const;

/** Draws on a canvas whose context is already scaled to CSS pixels. */
export class CanvasSurface implements Surface {
  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly ink: string,
    readonly screen: boolean,
  ) {}

  rect(x: number, y: number, width: number, height: number, style: ShapeStyle & { radius?: number }): void {
    this.context.beginPath();
    if (style.radius) this.context.roundRect(x, y, width, height, style.radius);
    else this.context.rect(x, y, width, height);
    this.paint(style);
  }
  line(x1: number, y1: number, x2: number, y2: number, style: StrokeStyle): void {
    this.context.beginPath();
    this.context.moveTo(x1, y1);
    this.context.lineTo(x2, y2);
    this.paint(style);
  }
  circle(x: number, y: number, radius: number, style: ShapeStyle): void {
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.paint(style);
  }
  path(d: string, style: ShapeStyle): void {
    this.paint(style, new Path2D(d));
  }
  text(text: string, x: number, y: number, style: TextStyle = {}): void {
    const c = this.context;
    c.save();
    c.globalAlpha = style.opacity ?? 1;
    c.fillStyle = style.fill ?? this.ink;
    c.font = `${style.weight ?? 400} ${style.size ?? fontSize}px ${fontFamily}`;
    c.textAlign = anchors[style.anchor ?? "start"];
    c.textBaseline = baselines[style.baseline ?? "bottom"];
    c.translate(x, y);
    if (style.rotate) c.rotate((style.rotate * Math.PI) / 180);
    c.fillText(text, 0, 0);
    c.restore();
  }
  cells(cells: Cells, x: number, y: number, width: number, height: number): void {
    if (cells.rows === 0 || cells.columns === 0) return;
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(rasterOf(cells), x, y, width, height);
  }
  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
  layer(cache: LayerCache, key: string, draw: (s: Surface) => void): void {
    if (!this.screen) {
      draw(this);
      return;
    }
    const { canvas } = this.context;
    const transform = this.context.getTransform();
    const whole = `${canvas.width} ${canvas.height} ${transform.a} ${key}`;
    // What changes in every frame, as while a slider is dragged, is not worth a copy.
    if (cache.key !== whole && cache.last !== whole) {
      cache.last = whole;
      draw(this);
      return;
    }
    cache.canvas ??= document.createElement("canvas");
    if (cache.key !== whole) {
      cache.key = whole;
      cache.canvas.width = canvas.width;
      cache.canvas.height = canvas.height;
      const context = cache.canvas.getContext("2d")!;
      context.setTransform(transform);
      draw(new CanvasSurface(context, this.ink, this.screen));
    }
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(cache.canvas, 0, 0);
    this.context.setTransform(transform);
  }
  measure(text: string, size: number, weight = 400): number {
    return measureText(text, size, weight);
  }

  private paint(style: ShapeStyle, path?: Path2D): void {
    const c = this.context;
    c.globalAlpha = style.opacity ?? 1;
    if (style.fill) {
      c.fillStyle = style.fill;
      if (path) c.fill(path);
      else c.fill();
    }
    if (style.stroke) {
      c.strokeStyle = style.stroke;
      c.lineWidth = style.width ?? 1;
      c.setLineDash(style.dash ?? []);
      if (path) c.stroke(path);
      else c.stroke();
    }
    c.globalAlpha = 1;
  }
}

const rasters = new WeakMap<Uint32Array, HTMLCanvasElement>();

/** Returns the cells as an image with one pixel per cell. The image is cached for as long as the color array exists. */
export function rasterOf(cells: Cells): HTMLCanvasElement {
  let raster = rasters.get(cells.colors);
  if (!raster) {
    raster = document.createElement("canvas");
    raster.width = cells.columns;
    raster.height = cells.rows;
    const bytes = new Uint8ClampedArray(
      cells.colors.buffer as ArrayBuffer,
      cells.colors.byteOffset,
      cells.colors.byteLength,
    );
    raster.getContext("2d")!.putImageData(new ImageData(bytes, cells.columns, cells.rows), 0, 0);
    rasters.set(cells.colors, raster);
  }
  return raster;
}

let ruler: CanvasRenderingContext2D | null = null;

export function measureText(text: string, size: number, weight = 400): number {
  ruler ??= document.createElement("canvas").getContext("2d")!;
  ruler.font = `${weight} ${size}px ${fontFamily}`;
  return ruler.measureText(text).width;
}
