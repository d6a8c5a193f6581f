import type { Run } from "../data/run";
import type { Table } from "../data/table";
import { toCsv } from "../data/table";
import { formatNumber } from "../draw/axes";
import type { View } from "../ui/context";
import { button } from "../ui/controls";
import { el } from "../ui/dom";
import { saveFile } from "../ui/export_menu";

/** Tables that figures of this page already show. */
const shown = new Set([
  "heads",
  "attention",
  "edges",
  "hubs",
  "informativeness",
  "tokens",
  "detectors",
  "sparsity",
  "decay",
  "invariance",
  "invariance_levels",
  "convergence",
]);
const mostRows = 100;

function others(run: Run): string[] {
  return run.tableNames().filter((name) => !shown.has(name) && run.table(name)!.rows > 0);
}

/** Tables that no other view knows, as they are. */
export const tables: View = {
  id: "tables",
  title: "Other tables",
  about: "Tables of the run that have no figure of their own.",
  available: (run) => others(run).length > 0,
  mount(section, { run }) {
    for (const name of others(run)) section.append(tableCard(run, name, run.table(name)!));
  },
};

function tableCard(run: Run, name: string, table: Table): HTMLElement {
  const rows = table.cells().slice(0, mostRows);
  const save = () => saveFile(`${name}.csv`, new Blob([toCsv(table.columns, table.cells())], { type: "text/csv" }));
  const about = run.doc.manifest.files[`${name}.csv`]?.about ?? "";
  const body = rows.map((row) =>
    el(
      "tr",
      {},
      ...row.map((cell) =>
        typeof cell === "number" ? el("td", { class: "number" }, formatNumber(cell, 4)) : el("td", {}, cell ?? ""),
      ),
    ),
  );
  return el(
    "article",
    {},
    el(
      "div",
      { class: "figure-head" },
      el("h3", {}, name),
      button("CSV", save, { class: "quiet", "aria-label": `Save ${name} as CSV` }),
    ),
    el("p", { class: "about" }, about),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...table.columns.map((column) => el("th", { scope: "col" }, column)))),
        el("tbody", {}, ...body),
      ),
    ),
    rows.length < table.rows
      ? el("p", { class: "note" }, `${rows.length} of ${table.rows} rows; the CSV has all.`)
      : null,
  );
}
