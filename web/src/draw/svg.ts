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

/** Above this number of cells, an SVG contains an image instead of rectangles. */
export const maxRectangles = 40000;

const round = (value: number) => String(Math.round(value * 100) / 100);

/** Escapes text for XML and replaces the characters that XML cannot represent. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Returns the color of a cell as "#rrggbb" and opacity. */
export function cellColor(color: number): { fill: string; opacity: number } {
  const hex = (shift: number) => ((color >>> shift) & 255).toString(16).padStart(2, "0");
  return { fill: `#${hex(0)}${hex(8)}${hex(16)}`, opacity: (color >>> 24) / 255 };
}

/** Collects the drawing as SVG elements. */
export class SvgSurface implements Surface {
  readonly screen = false;
  private readonly parts: string[] = [];

  /** `measure` returns the width of a text, `encode` the data URL of an image. */
  constructor(
    private readonly ink: string,
    readonly measure: (text: string, size: number, weight?: number) => number,
    private readonly encode: (cells: Cells) => string,
  ) {}

  /** Returns the drawing as a complete SVG document, `millimeters` wide if that is given. */
  document(width: number, height: number, background: string, title: string, millimeters?: number): string {
    const unit = (length: number) =>
      millimeters === undefined ? round(length) : `${round((length * millimeters) / width)}mm`;
    const size = `width="${unit(width)}" height="${unit(height)}" viewBox="0 0 ${round(width)} ${round(height)}"`;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${escapeXml(fontFamily)}" role="img">` +
      `<title>${escapeXml(title)}</title>` +
      `<rect width="100%" height="100%" fill="${background}"/>${this.parts.join("\n")}</svg>\n`
    );
  }

  rect(x: number, y: number, width: number, height: number, style: ShapeStyle & { radius?: number }): void {
    const box = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
    this.parts.push(`<rect ${box}${style.radius ? ` rx="${round(style.radius)}"` : ""}${paint(style)}/>`);
  }
  line(x1: number, y1: number, x2: number, y2: number, style: StrokeStyle): void {
    this.parts.push(`<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"${paint(style)}/>`);
  }
  circle(x: number, y: number, radius: number, style: ShapeStyle): void {
    this.parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}"${paint(style)}/>`);
  }
  path(d: string, style: ShapeStyle): void {
    this.parts.push(`<path d="${d}"${paint(style)}/>`);
  }
  text(text: string, x: number, y: number, style: TextStyle = {}): void {
    const baseline = { top: "hanging", middle: "central", bottom: "alphabetic" }[style.baseline ?? "bottom"];
    const turn = style.rotate ? ` transform="rotate(${style.rotate} ${round(x)} ${round(y)})"` : "";
    const weight = style.weight ? ` font-weight="${style.weight}"` : "";
    const opacity = style.opacity === undefined ? "" : ` opacity="${round(style.opacity)}"`;
    this.parts.push(
      `<text x="${round(x)}" y="${round(y)}" font-size="${style.size ?? fontSize}" fill="${style.fill ?? this.ink}" ` +
        `text-anchor="${style.anchor ?? "start"}" dominant-baseline="${baseline}"${weight}${opacity}${turn}>` +
        `${escapeXml(text)}</text>`,
    );
  }
  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip-${this.parts.length}`;
    const box = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
    this.parts.push(`<clipPath id="${id}"><rect ${box}/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }
  layer(_cache: LayerCache, _key: string, draw: (s: Surface) => void): void {
    draw(this);
  }
  cells(cells: Cells, x: number, y: number, width: number, height: number): void {
    if (cells.rows * cells.columns > maxRectangles) {
      const box = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
      this.parts.push(
        `<image ${box} preserveAspectRatio="none" style="image-rendering:pixelated" href="${this.encode(cells)}"/>`,
      );
      return;
    }
    this.parts.push(...cellRuns(cells, x, y, width / cells.columns, height / cells.rows));
  }
}

function paint(style: ShapeStyle): string {
  const fill = ` fill="${style.fill ?? "none"}"`;
  const stroke = style.stroke ? ` stroke="${style.stroke}" stroke-width="${round(style.width ?? 1)}"` : "";
  const dash = style.dash?.length ? ` stroke-dasharray="${style.dash.join(" ")}"` : "";
  const opacity = style.opacity === undefined || style.opacity === 1 ? "" : ` opacity="${round(style.opacity)}"`;
  return fill + stroke + dash + opacity;
}

/** Returns one rectangle per run of equal cells in a row. */
function cellRuns(cells: Cells, x: number, y: number, width: number, height: number): string[] {
  const runs: string[] = [`<g shape-rendering="crispEdges">`];
  for (let row = 0; row < cells.rows; ++row) {
    for (let column = 0; column < cells.columns;) {
      const color = cells.colors[row * cells.columns + column] ?? 0;
      let end = column + 1;
      while (end < cells.columns && cells.colors[row * cells.columns + end] === color) ++end;
      if (color >>> 24 > 0) {
        const { fill, opacity } = cellColor(color);
        const box = `x="${round(x + column * width)}" y="${round(y + row * height)}" width="${round((end - column) * width)}" height="${round(height)}"`;
        runs.push(`<rect ${box} fill="${fill}"${opacity < 1 ? ` fill-opacity="${round(opacity)}"` : ""}/>`);
      }
      column = end;
    }
  }
  runs.push("</g>");
  return runs;
}
