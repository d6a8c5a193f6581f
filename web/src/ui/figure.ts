import type { EdgeKey } from "../data/edge_key";
import { CanvasSurface, measureText, rasterOf } from "../draw/canvas";
import type { Surface } from "../draw/surface";
import { SvgSurface } from "../draw/svg";
import { shortNumber, toCsv, type Cell } from "../data/table";
import { el, uniqueId } from "./dom";
import { columnPixels, columns, columnScale, drawCaption, layoutCaption, runTitle, type Column } from "./export_column";
import { exportMenu, saveFile } from "./export_menu";
import { inFrame } from "./frame";
import type { Store } from "./store";
import { light, type Theme } from "./theme";
import { hideTip, showTip, type TipLine } from "./tooltip";
import { listenZoom, zoomKey, type ZoomHooks } from "./zoom";

/** The object under a point of a figure. */
export interface Hit {
  head?: string;
  /** A click chooses the edge rather than the head. */
  edge?: EdgeKey;
  tip: TipLine[];
}

export interface FigureData {
  columns: string[];
  rows: Cell[][];
  /** Rows to show faint, if any. */
  faint?: boolean[];
}

export interface FigureSpec {
  /** Unique in the page; also the name of exported files. */
  id: string;
  title: string;
  caption?: string;
  /** True if another canvas underneath must stay visible on the screen. */
  transparent?: boolean;
  /** Returns a text description for screen readers. */
  describe(): string;
  height(width: number): number;
  draw(s: Surface, width: number, height: number, theme: Theme): void;
  data(): FigureData;
  hit?(x: number, y: number): Hit | null;
  click?(x: number, y: number): void;
  /** Handles a key. Returns the text to announce to screen readers, or null if the key is not used. */
  key?(key: string): string | null;
  /** Called when a drag starts or moves. Returns false at the start to refuse the drag. */
  drag?(x: number, y: number, start: boolean): boolean;
  dragEnd?(): void;
  /** Null model and filter, for the caption of exported files. */
  note?(): string;
  /** Makes the figure zoom on gestures and keys. */
  zoom?: ZoomHooks;
}

/** A figure with title, controls, export menu, canvas and data table. Handles keyboard and pointer. */
export class Figure {
  readonly element: HTMLElement;
  readonly controls = el("div", { class: "controls" });
  protected readonly canvas = el("canvas", { tabindex: "0" });
  private readonly stage = el("div", { class: "stage" });
  private readonly liveRegion = el("div", { class: "hidden", "aria-live": "polite" });
  private width = 0;
  private dragging = false;
  private seen = false;
  private stale = true;

  constructor(
    protected readonly spec: FigureSpec,
    protected readonly store: Store,
  ) {
    const title = el("h3", { id: uniqueId("title") }, spec.title);
    const menu = exportMenu(spec.title, {
      SVG: () => this.saveSvg(),
      PNG: () => void this.savePng(),
      CSV: () => this.saveCsv(),
      "SVG, one column": () => this.saveColumnSvg("one"),
      "SVG, two columns": () => this.saveColumnSvg("two"),
      "PNG, one column": () => void this.saveColumnPng("one"),
      "PNG, two columns": () => void this.saveColumnPng("two"),
      Table: () => this.toggleTable(),
    });
    // Replaced by a description once the figure is drawn.
    this.canvas.setAttribute("aria-label", spec.title);
    this.canvas.setAttribute("role", spec.key || spec.click ? "application" : "img");
    this.stage.append(this.canvas);
    this.element = el(
      "figure",
      { id: `figure-${spec.id}`, "aria-labelledby": title.id },
      el("div", { class: "figure-head" }, title, menu),
      this.controls,
      this.stage,
      spec.caption ? el("figcaption", {}, spec.caption) : null,
      this.liveRegion,
    );
    this.listen();
    store.subscribe(() => this.redraw());
  }

  /** Redraws in the next frame, or when the figure scrolls into view. */
  redraw(): void {
    if (!this.stale) delete this.element.dataset.current;
    this.stale = true;
    if (this.seen) inFrame(this.drawNow);
  }

  /** Replaces the canvas by a vector image before printing, and restores it afterwards. */
  printing(begin: boolean): void {
    this.stage.querySelector("img.print")?.remove();
    this.canvas.hidden = begin;
    if (!begin) return;
    const image = el("img", { class: "print", alt: this.spec.describe() });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.svg())}`;
    this.stage.append(image);
  }

  svg(): string {
    const { width, height } = this.size();
    const surface = new SvgSurface(light.ink, measureText, (cells) => rasterOf(cells).toDataURL("image/png"));
    this.spec.draw(surface, width, height, light);
    return surface.document(width, height, light.background, this.spec.title);
  }

  private size(): { width: number; height: number } {
    const width = this.width || Math.floor(this.stage.clientWidth) || 960;
    return { width, height: this.spec.height(width) };
  }

  private readonly drawNow = (): void => {
    const width = Math.floor(this.stage.clientWidth);
    if (width === 0) return;
    this.stale = false;
    this.element.dataset.current = "true";
    this.width = width;
    const height = this.spec.height(width);
    this.paint(this.canvas, window.devicePixelRatio || 1, this.store.state.theme, true);
    this.canvas.style.height = `${height}px`;
    this.canvas.setAttribute("aria-label", this.spec.describe());
    this.element.dataset.drawn = String(Number(this.element.dataset.drawn ?? 0) + 1);
  };

  private paint(canvas: HTMLCanvasElement, scale: number, theme: Theme, screen: boolean): void {
    const { width, height } = this.size();
    const pixels = [Math.round(width * scale), Math.round(height * scale)] as const;
    if (canvas.width !== pixels[0]) canvas.width = pixels[0];
    if (canvas.height !== pixels[1]) canvas.height = pixels[1];
    const context = canvas.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = theme.background;
    if (!screen || !this.spec.transparent) context.fillRect(0, 0, width, height);
    this.spec.draw(new CanvasSurface(context, theme.ink, screen), width, height, theme);
  }

  private saveSvg(): void {
    saveFile(`${this.spec.id}.svg`, new Blob([this.svg()], { type: "image/svg+xml" }));
  }
  private async savePng(): Promise<void> {
    const canvas = document.createElement("canvas");
    this.paint(canvas, 2, light, false);
    await this.saveCanvas(canvas, `${this.spec.id}.png`);
  }
  private async saveCanvas(canvas: HTMLCanvasElement, name: string): Promise<void> {
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
    if (blob) saveFile(name, blob);
  }

  /** Lays the figure out at the width of a column and draws it with its caption. Returns the height. */
  private drawColumn(column: Column, draw: (width: number, height: number) => Surface): number {
    const width = columnPixels(column);
    const note = [runTitle(), this.spec.note?.()].filter(Boolean).join(". ");
    const caption = layoutCaption(this.spec.title, note, width, measureText);
    const height = this.spec.height(width);
    const surface = draw(width, height + caption.height);
    this.spec.draw(surface, width, height, light);
    drawCaption(surface, caption, height, light);
    // The figure keeps places of what it drew last, so it must be drawn for the screen again.
    this.redraw();
    return height + caption.height;
  }
  private saveColumnSvg(column: Column): void {
    const surface = new SvgSurface(light.ink, measureText, (cells) => rasterOf(cells).toDataURL("image/png"));
    const height = this.drawColumn(column, () => surface);
    const { millimeters } = columns[column];
    const text = surface.document(columnPixels(column), height, light.background, this.spec.title, millimeters);
    saveFile(`${this.spec.id}_${millimeters}mm.svg`, new Blob([text], { type: "image/svg+xml" }));
  }
  private async saveColumnPng(column: Column): Promise<void> {
    const canvas = document.createElement("canvas");
    this.drawColumn(column, (width, height) => {
      const scale = columnScale(width, height);
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      const context = canvas.getContext("2d")!;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.fillStyle = light.background;
      context.fillRect(0, 0, width, height);
      return new CanvasSurface(context, light.ink, false);
    });
    await this.saveCanvas(canvas, `${this.spec.id}_${columns[column].millimeters}mm.png`);
  }
  private saveCsv(): void {
    const { columns, rows } = this.spec.data();
    saveFile(`${this.spec.id}.csv`, new Blob([toCsv(columns, rows)], { type: "text/csv" }));
  }
  private toggleTable(): void {
    const shown = this.element.querySelector(".figure-data");
    if (shown) shown.remove();
    else this.element.append(dataTable(this.spec.data(), this.spec.title));
  }

  private place(event: PointerEvent | MouseEvent): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private listen(): void {
    const { zoom } = this.spec;
    const wasDrag = zoom ? listenZoom(this.canvas, zoom) : () => false;
    new ResizeObserver(() => {
      if (Math.floor(this.stage.clientWidth) !== this.width) this.redraw();
    }).observe(this.stage);
    new IntersectionObserver(
      (entries) => {
        this.seen = entries.at(-1)!.isIntersecting;
        if (this.seen && this.stale) this.redraw();
      },
      { rootMargin: "200px" },
    ).observe(this.stage);
    this.canvas.addEventListener("pointerdown", (event) => {
      const { x, y } = this.place(event);
      if (!this.spec.drag?.(x, y, true)) return;
      this.dragging = true;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointerup", () => {
      if (this.dragging) this.spec.dragEnd?.();
      this.dragging = false;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const { x, y } = this.place(event);
      if (this.dragging) {
        this.spec.drag?.(x, y, false);
        return;
      }
      const hit = this.spec.hit?.(x, y) ?? null;
      this.canvas.style.cursor = hit?.head || hit?.edge ? "pointer" : zoom?.zoomed() ? "grab" : "default";
      this.store.set({ hover: hit?.head ?? null });
      if (hit && hit.tip.length > 0) showTip(hit.tip, event.clientX, event.clientY);
      else hideTip();
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.store.set({ hover: null });
      hideTip();
    });
    this.canvas.addEventListener("click", (event) => {
      if (wasDrag()) return;
      const { x, y } = this.place(event);
      if (this.spec.click) this.spec.click(x, y);
      else {
        const hit = this.spec.hit?.(x, y);
        if (hit?.edge) this.store.chooseEdge(hit.edge);
        else if (hit?.head) this.store.choose(hit.head);
      }
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const zoomed = zoom ? zoomKey(event.key, zoom, this.canvas.clientWidth, this.canvas.clientHeight) : null;
      const announcement = zoomed ?? this.spec.key?.(event.key) ?? null;
      if (announcement === null) return;
      event.preventDefault();
      this.liveRegion.textContent = announcement;
    });
  }
}

/** Max number of rows in the table of a figure. The CSV file has all rows. */
const maxRows = 200;

function dataTable(data: FigureData, title: string): HTMLElement {
  const shown = data.rows.slice(0, maxRows);
  const head = el("tr", {}, ...data.columns.map((column) => el("th", { scope: "col" }, column)));
  const body = shown.map((row, i) =>
    el(
      "tr",
      data.faint?.[i] ? { class: "faint" } : {},
      ...row.map((cell) =>
        el("td", {}, cell === null ? "" : String(typeof cell === "number" ? shortNumber(cell) : cell)),
      ),
    ),
  );
  const caption = `${title}: ${shown.length} of ${data.rows.length} rows`;
  return el(
    "div",
    { class: "figure-data", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body)),
  );
}
