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
  /** Significant digits in the page. The CSV file has six. */
  digits?: number;
  /** Rows to show faint, if any. */
  faint?: boolean[];
  /** Called with the row whose first cell is clicked. */
  open?: (row: number) => void;
}

/** A table with a title, an explanation, and a button that saves it as CSV. */
export function tableCard({ name, title, about, columns, rows, digits = 4, faint, open }: TableCard): HTMLElement {
  const shown = rows.slice(0, maxRows);
  const save = () => saveFile(`${name}.csv`, new Blob([toCsv(columns, rows)], { type: "text/csv" }));
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const cell = (value: Cell, i: number) =>
    typeof value === "number"
      ? el(
          "td",
          { class: "number" },
          Number.isSafeInteger(value) ? value.toLocaleString("en-US") : formatNumber(value, digits),
        )
      : el("td", numeric[i] ? { class: "number" } : {}, value ?? "");
  const line = (row: Cell[], at: number) => {
    const cells = row.map(cell);
    if (open) {
      cells[0]!.classList.add("name");
      cells[0]!.replaceChildren(button(String(row[0]), () => open(at), { class: "quiet" }));
    }
    return el("tr", faint?.[at] ? { class: "faint" } : {}, ...cells);
  };
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
      { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, table` },
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
        el("tbody", {}, ...shown.map(line)),
      ),
    ),
    shown.length < rows.length
      ? el("p", { class: "note" }, `Showing ${shown.length} of ${rows.length} rows. The CSV file has all rows.`)
      : null,
  );
}
