import "../heads.css";
import type { Head } from "../data/head";
import { headFacts } from "../data/head_facts";
import { loadShownInput, type ShownInput } from "../data/head_maps";
import { maxOf } from "../data/stats";
import { cividis } from "../draw/color";
import { drawMap, headCells, mapImageNote } from "../draw/map_image";
import { fontFamily } from "../draw/surface";
import { headTip, type Context, type View } from "../ui/context";
import { el } from "../ui/dom";
import { headFilterControls, onHeadFilter, passingHeads } from "../ui/head_filter";
import { inputChooser } from "../ui/input_chooser";
import { light, type Theme } from "../ui/theme";
import { hideTip, showTip } from "../ui/tooltip";
import { labelStep } from "./grid";
import {
  bandHeight,
  bandTitle,
  bandTop,
  cellPlace,
  columnLabels,
  gutter,
  headAt,
  layoutGrid,
  moveInGrid,
  titleHeight,
  type GridLayout,
} from "./head_grid_layout";
import { colorOptions, nodeColors, type NodeColors } from "./node_color";

export const headGrid: View = {
  id: "head-grid",
  title: "All heads",
  about:
    "Every head of the model, one row per layer, in groups if there is an encoder and a decoder. A cell shows where the head looks; a bar below it has the color of its class, or of what detectors found. Click a head to select it. Shift-click, or press p, to pin it to the tray. Heads that the filters leave out are pale.",
  available: (run) => run.heads.length > 0,
  async mount(section, context) {
    await new HeadGridView(context).attach(section);
  },
};

/** One canvas per layer, drawn when it scrolls into view. Marks are elements above them, so that hovering draws nothing. */
class HeadGridView {
  private readonly stage = el("div", { class: "head-grid", role: "application", tabindex: "0" });
  private readonly columns = el("div", { class: "grid-columns", "aria-hidden": "true" });
  private readonly live = el("div", { class: "hidden", "aria-live": "polite" });
  private readonly marks = el("div", { class: "marks", "aria-hidden": "true" });
  private bands: HTMLCanvasElement[] = [];
  private readonly visible = new Set<number>();
  private readonly fresh = new Set<number>();
  private layout: GridLayout;
  private width = 0;
  private shown: ShownInput | null = null;
  private passing: Set<string>;
  private readonly classes: NodeColors | null;
  private readonly strengths: Map<string, number>;
  private cursor: Head;
  private readonly observer = new IntersectionObserver((entries) => this.scrolled(entries), { rootMargin: "200px" });

  constructor(private readonly context: Context) {
    const { run, store } = context;
    this.layout = layoutGrid(run.heads, run.layers, 960);
    this.passing = passingHeads(run, store);
    const by = colorOptions(run)[0]!.value;
    this.classes = by === "class" || by === "detected" ? nodeColors(run, by) : null;
    this.strengths = new Map(
      headFacts(run)
        .filter((facts) => facts.strength > 0)
        .map((facts) => [facts.head.name, facts.strength]),
    );
    this.cursor = run.head(store.state.head) ?? run.heads[0]!;
    this.stage.setAttribute(
      "aria-label",
      `${run.heads.length} heads in ${run.layers.count} layers. Arrow keys move between heads, Enter selects, p pins.`,
    );
  }

  async attach(section: HTMLElement): Promise<void> {
    const { run, store } = this.context;
    const note = el("p", { class: "note" }, this.note());
    section.append(
      ...inputChooser(this.context),
      headFilterControls(this.context),
      this.legend(),
      note,
      this.columns,
      this.stage,
      this.live,
    );
    this.listen();
    await this.load();
    this.build();
    new ResizeObserver(() => this.resized()).observe(this.stage);
    // Layers that were never in view are printed too, in light colors.
    addEventListener("beforeprint", () => this.bands.forEach((_, at) => this.drawBand(at, light)));
    addEventListener("afterprint", () => this.redraw());
    onHeadFilter(store, () => {
      this.passing = passingHeads(run, store);
      this.redraw();
    });
    store.subscribe((state, changed) => {
      if (changed.has("input") || changed.has("query"))
        void this.load().then(() => {
          note.textContent = this.note();
          this.redraw();
        });
      if (changed.has("theme")) this.redraw();
      if (changed.has("head")) this.cursor = run.head(state.head) ?? this.cursor;
      if (["head", "hover", "pins"].some((one) => changed.has(one as "head"))) this.placeMarks();
    });
  }

  private note(): string {
    const { run, store } = this.context;
    const input = run.inputs[store.state.input];
    const mapped = new Set(input?.parts.flatMap((part) => (part.pattern ? part.tokens.heads : [])));
    const others = run.heads.filter((head) => !mapped.has(head.name));
    const what = others.every((head) => head.kv) ? "KV heads have no map of their own." : "Not every head has a map.";
    const scale = " Cells without a map have the color of their sum of z, from dark (0) to light (the largest).";
    const colors = this.strengths.size > 0 ? scale : "";
    if (mapped.size === 0) return `This run has no attention maps.${colors}`;
    return mapImageNote(input?.first) + (others.length > 0 ? ` ${what}${colors}` : "");
  }
  private legend(): HTMLElement {
    const entries = (this.classes?.legend ?? []).map(({ color, label }) => {
      const swatch = el("span", { class: "swatch" });
      swatch.style.color = color;
      return el("span", { class: "entry" }, swatch, label);
    });
    return el("p", { class: "head-legend" }, ...entries);
  }

  private async load(): Promise<void> {
    const { run, store } = this.context;
    this.shown = await loadShownInput(run, store.state.input);
  }

  /** Makes the canvases anew, for a new width. */
  private build(): void {
    const { run } = this.context;
    this.width = Math.floor(this.stage.clientWidth) || 960;
    this.layout = layoutGrid(run.heads, run.layers, this.width);
    this.observer.disconnect();
    this.visible.clear();
    this.fresh.clear();
    this.bands = this.layout.bands.map((_, i) => {
      const band = el("canvas", { "aria-hidden": "true", "data-band": String(i) });
      band.style.height = `${bandHeight(this.layout, i)}px`;
      this.observer.observe(band);
      return band;
    });
    this.stage.replaceChildren(...this.bands.flatMap((band, i) => [...this.title(i), band]), this.marks);
    const labels = columnLabels(this.layout);
    const step = labelStep(this.layout.cell, Math.max(...labels.map((label) => 7 * label.length + 4)));
    this.columns.replaceChildren(
      ...labels.map((label, i) => el("span", {}, i % step === 0 || label.startsWith("kv0") ? label : "")),
    );
    this.columns.style.paddingLeft = `${gutter}px`;
    this.columns.style.gridTemplateColumns = `repeat(${labels.length}, ${this.layout.cell}px)`;
    this.placeMarks();
  }
  private title(band: number): HTMLElement[] {
    const name = bandTitle(this.layout, band);
    if (name === null) return [];
    const title = el("div", { class: "grid-block" }, name);
    title.style.height = `${titleHeight}px`;
    return [title];
  }
  private resized(): void {
    const width = Math.floor(this.stage.clientWidth);
    if (width > 0 && width !== this.width) this.build();
  }
  private scrolled(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const at = Number((target as HTMLElement).dataset.band);
      if (isIntersecting) this.visible.add(at);
      else this.visible.delete(at);
      if (isIntersecting && !this.fresh.has(at)) this.drawBand(at);
    }
  }
  private redraw(): void {
    this.fresh.clear();
    this.visible.forEach((at) => this.drawBand(at));
  }

  private drawBand(at: number, theme = this.context.store.state.theme): void {
    const { query } = this.context.store.state;
    const band = this.bands[at]!;
    const { layer } = this.layout.layers.byBlock[at]!;
    const scale = Math.min(2, window.devicePixelRatio || 1);
    const height = bandHeight(this.layout, at);
    band.width = Math.round(this.width * scale);
    band.height = Math.round(height * scale);
    const c = band.getContext("2d")!;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.fillStyle = theme.muted;
    c.font = `12px ${fontFamily}`;
    c.textBaseline = "middle";
    const { cell, perLine } = this.layout;
    // Lines after the first one say how many heads of the layer come before them.
    for (let line = 0; line * cell < height; ++line)
      c.fillText(line === 0 ? `L${layer}` : `+${line * perLine}`, 2, (line + 0.5) * cell);
    const size = cell - 2;
    this.layout.bands[at]!.forEach((head, i) => {
      const { x, y } = cellPlace(this.layout, i);
      c.globalAlpha = this.passing.has(head.name) ? 1 : 0.15;
      const cells = this.shown ? headCells(this.shown, head.name, Math.round(size * scale), query) : null;
      if (cells) drawMap(c, cells, x + 1, y + 1, size, theme);
      else {
        c.fillStyle = this.fill(head.name, theme);
        c.fillRect(x + 1, y + 1, size, size);
      }
      const bar = this.classes?.color(head.name, theme) ?? theme.blank;
      if (bar !== theme.blank) {
        c.fillStyle = bar;
        c.fillRect(x + 1, y + 1 + size - 4, size, 4);
      }
      c.strokeStyle = theme.grid;
      c.lineWidth = 1;
      c.strokeRect(x + 0.5, y + 0.5, size + 1, size + 1);
    });
    c.globalAlpha = 1;
    this.fresh.add(at);
  }
  private fill(name: string, theme: Theme): string {
    const strength = this.strengths.get(name);
    return strength === undefined ? theme.blank : cividis(strength / Math.max(1e-9, maxOf(this.strengths.values())));
  }

  /** Puts frames around the head under the pointer, the selected head and the pinned heads. */
  private placeMarks(): void {
    const { run, store } = this.context;
    const { head, hover, pins } = store.state;
    const frame = (name: string | null, kind: string) => {
      const at = run.head(name);
      if (!at) return [];
      const band = this.layout.layers.band(at);
      const { x, y } = cellPlace(this.layout, this.layout.bands[band]!.indexOf(at));
      const mark = el("div", { class: `mark ${kind}` });
      mark.style.transform = `translate(${x}px, ${y + bandTop(this.layout, band)}px)`;
      mark.style.width = mark.style.height = `${this.layout.cell}px`;
      return [mark];
    };
    const cursor = document.activeElement === this.stage ? this.cursor.name : null;
    this.marks.replaceChildren(
      ...pins.flatMap((name) => frame(name, "pinned")),
      ...frame(hover, "hovered"),
      ...frame(cursor, "cursor"),
      ...frame(head, "selected"),
    );
  }
  private headUnder(event: MouseEvent): Head | undefined {
    const band = (event.target as HTMLElement).closest<HTMLElement>("canvas[data-band]");
    if (!band) return undefined;
    const box = band.getBoundingClientRect();
    return headAt(this.layout, Number(band.dataset.band), event.clientX - box.left, event.clientY - box.top);
  }

  private listen(): void {
    const { run, store } = this.context;
    this.stage.addEventListener("pointermove", (event) => {
      const head = this.headUnder(event);
      this.stage.style.cursor = head ? "pointer" : "default";
      store.set({ hover: head?.name ?? null });
      if (head) showTip(headTip(run, head.name), event.clientX, event.clientY);
      else hideTip();
    });
    this.stage.addEventListener("pointerleave", () => {
      store.set({ hover: null });
      hideTip();
    });
    this.stage.addEventListener("click", (event) => {
      const head = this.headUnder(event);
      if (!head) return;
      this.cursor = head;
      if (event.shiftKey) store.togglePin(head.name);
      else store.choose(head.name);
    });
    this.stage.addEventListener("focus", () => this.placeMarks());
    this.stage.addEventListener("blur", () => this.placeMarks());
    this.stage.addEventListener("keydown", (event) => this.pressed(event));
  }
  private pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { run, store } = this.context;
    const next = moveInGrid(this.layout, this.cursor, event.key);
    if (next) {
      this.cursor = next;
      this.placeMarks();
      this.bands[this.layout.layers.band(next)]!.scrollIntoView({ block: "nearest" });
      const facts = headTip(run, next.name).map((line) =>
        typeof line === "string" ? line : `${line.label} ${line.value}`,
      );
      this.live.textContent = facts.slice(0, 3).join(", ");
    } else if (event.key === "Enter" || event.key === " ") store.choose(this.cursor.name);
    else if (event.key === "p") {
      store.togglePin(this.cursor.name);
      this.live.textContent = `${this.cursor.name} ${store.state.pins.includes(this.cursor.name) ? "pinned" : "unpinned"}`;
    } else return;
    event.preventDefault();
  }
}
