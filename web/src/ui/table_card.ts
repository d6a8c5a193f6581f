import { toCsv, type Cell } from "../data/table";
import { formatNumber } from "../draw/axes";
import { button } from "./controls";
import { el } from "./dom";
import { saveFile } from "./export_menu";

const maxRows = 100;

export interface TableCard {
  /** Name of the CSV file. */
  name: string;
  title: string;
  about: string;
  columns: string[];
  rows: Cell[][];
  /** Significant digits in the page. The CSV file has all digits. */
  digits?: number;
  /** Rows to show faint, if any. */
  faint?: boolean[];
}

/** A table with a title, an explanation, and a button that saves it as CSV. */
export function tableCard({ name, title, about, columns, rows, digits = 4, faint }: TableCard): HTMLElement {
  const shown = rows.slice(0, maxRows);
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
        el("tbody", {}, ...shown.map((row, i) => el("tr", faint?.[i] ? { class: "faint" } : {}, ...row.map(cell)))),
      ),
    ),
    shown.length < rows.length
      ? el("p", { class: "note" }, `Showing ${shown.length} of ${rows.length} rows. The CSV file has all rows.`)
      : null,
  );
}
