import { fontSize, type Surface } from "../draw/surface";
import type { Theme } from "./theme";

/** Widths of figures in journals. */
export const columns = {
  one: { label: "one column", millimeters: 88 },
  two: { label: "two columns", millimeters: 180 },
} as const;
export type Column = keyof typeof columns;

/** CSS pixels per millimeter. */
const perMillimeter = 96 / 25.4;
export const columnPixels = (column: Column) => Math.round(columns[column].millimeters * perMillimeter);

/** Returns the factor of a PNG: 600 dots per inch, or fewer if a browser could not make the canvas. */
export const columnScale = (width: number, height: number) => Math.min(600 / 96, 16000 / Math.max(width, height));

/** Returns a text in lines that are at most `width` wide. Words are not split. */
export function wrapText(text: string, width: number, measure: (text: string) => number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ").filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && measure(`${last} ${word}`) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const lineHeight = 14;
const captionSize = 10;

/** The text under an exported figure: title and note, in lines. */
export interface Caption {
  title: string[];
  note: string[];
  height: number;
}

export function layoutCaption(
  title: string,
  note: string,
  width: number,
  measure: (text: string, size: number, weight?: number) => number,
): Caption {
  const room = width - 16;
  const head = wrapText(title, room, (text) => measure(text, fontSize, 600));
  const rest = wrapText(note, room, (text) => measure(text, captionSize));
  return { title: head, note: rest, height: 10 + lineHeight * (head.length + rest.length) };
}

export function drawCaption(s: Surface, caption: Caption, top: number, theme: Theme): void {
  let y = top;
  for (const line of caption.title) s.text(line, 8, (y += lineHeight), { weight: 600, fill: theme.ink });
  for (const line of caption.note) s.text(line, 8, (y += lineHeight), { size: captionSize, fill: theme.muted });
}

/** Returns the title of the run and its model, which are in the head of the page. */
export function runTitle(): string {
  const title = document.title.replace(/ \u00b7 headscope$/, "");
  const { model } = document.documentElement.dataset;
  return model && model !== title ? `${title}, model ${model}` : title;
}
