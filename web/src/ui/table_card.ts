import { toCsv, type Cell } from "../data/table";
import { formatNumber } from "../draw/axes";
import { button } from "./controls";
import { el } from "./dom";
import { saveFile } from "./export_menu";

const mostRows = 100;

export interface TableCard {
  /** Of the CSV file. */
  name: string;
  title: string;
  about: string;
  columns: string[];
  rows: Cell[][];
  /** Of numbers as they are shown; the CSV has all. */
  digits?: number;
}

/** A table with its title, one sentence, and a button that saves it. */
export function tableCard({ name, title, about, columns, rows, digits = 4 }: TableCard): HTMLElement {
  const shown = rows.slice(0, mostRows);
  const save = () => saveFile(`${name}.csv`, new Blob([toCsv(columns, rows)], { type: "text/csv" }));
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const cell = (value: Cell, i: number) =>
    typeof value === "number"
      ? el("td", { class: "number" }, formatNumber(value, digits))
      : el("td", numeric[i] ? { class: "number" } : {}, value ?? "");
  return el(
    "article",
    {},
    el(
      "div",
      { class: "figure-head" },
      el("h3", {}, title),
      button("CSV", save, { class: "quiet", "aria-label": `Save ${name} as CSV` }),
    ),
    about === "" ? null : el("p", { class: "about" }, about),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...columns.map((label, i) => el("th", { scope: "col", ...(numeric[i] ? { class: "number" } : {}) }, label)),
          ),
        ),
        el("tbody", {}, ...shown.map((row) => el("tr", {}, ...row.map(cell)))),
      ),
    ),
    shown.length < rows.length
      ? el("p", { class: "note" }, `${shown.length} of ${rows.length} rows; the CSV has all.`)
      : null,
  );
}
