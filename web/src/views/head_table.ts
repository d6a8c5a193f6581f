import { headFacts, type HeadFacts } from "../data/head_facts";
import { toCsv, type Cell } from "../data/table";
import { formatNumber, signed } from "../draw/axes";
import { headButton, type Context, type View } from "../ui/context";
import { button } from "../ui/controls";
import { el } from "../ui/dom";
import { exportMenu, saveFile } from "../ui/export_menu";
import { headFilter, onHeadFilter, passes } from "../ui/head_filter";

interface Column {
  name: string;
  label: string;
  value(facts: HeadFacts): Cell;
  /** Text in the page; default: the value. */
  text?(facts: HeadFacts): string;
}

const number = (value: number): Cell => (Number.isFinite(value) ? value : null);

const columns: Column[] = [
  { name: "head", label: "head", value: ({ head }) => head.name },
  { name: "class", label: "class", value: ({ head }) => head.classes.join(", ") },
  { name: "detected_as", label: "detected as", value: ({ detected }) => detected.join(", ").replaceAll("_", " ") },
  { name: "edges_in", label: "edges in", value: ({ incoming }) => number(incoming) },
  { name: "edges_out", label: "edges out", value: ({ outgoing }) => number(outgoing) },
  {
    name: "sum_of_z",
    label: "sum of z",
    value: ({ strength }) => number(strength),
    text: ({ strength, hub }) => formatNumber(strength) + (hub === "yes" ? " (hub)" : ""),
  },
  {
    name: "effect_when_cut",
    label: "effect when cut",
    value: ({ effect }) => number(effect),
    text: ({ effect }) => signed(effect),
  },
  { name: "entropy", label: "mean entropy, nats", value: ({ entropy }) => number(entropy) },
  { name: "gain", label: "gain", value: ({ gain }) => number(gain) },
];

/** Returns the columns that have a value for at least one head. */
export function usedColumns(all: readonly HeadFacts[]): Column[] {
  return columns.filter((column) =>
    all.some((facts) => {
      const value = column.value(facts);
      return value !== null && value !== "";
    }),
  );
}

/**
 * Sorts heads by a column; equal heads stay in the order of the model. Empty cells are last. Effects are sorted by
 * size, because both signs matter.
 */
export function sortFacts(all: readonly HeadFacts[], column: Column, descending: boolean): HeadFacts[] {
  const key = (facts: HeadFacts) => {
    const value = column.value(facts);
    return column.name === "effect_when_cut" && typeof value === "number" ? Math.abs(value) : value;
  };
  // The given order is that of the model, which is not that of the names: L10H0 comes after L2H0.
  if (column.name === "head") return descending ? [...all].reverse() : [...all];
  return [...all].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    const [noX, noY] = [x === null || x === "", y === null || y === ""];
    if (noX || noY) return Number(noX) - Number(noY);
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return descending ? -order : order;
  });
}

/** Rows that are shown at first. */
const firstRows = 50;

export const headTable: View = {
  id: "head-table",
  title: "Table of heads",
  about:
    "One row per head. Edges in and out are kept edges beyond chance. Effect when cut is the largest effect of cutting one of the head's edges. Mean entropy is over all inputs. Click a column to sort by it. The filters are those of the grid above.",
  available: (run) => run.heads.length > 0,
  mount(section, context) {
    section.append(new HeadTable(context).element);
  },
};

class HeadTable {
  readonly element: HTMLElement;
  private readonly all: HeadFacts[];
  private readonly columns: Column[];
  private by: Column;
  private descending = false;
  private showsAll = false;
  private readonly body = el("tbody", {});
  private readonly headings: HTMLElement[];
  private readonly more = el("p", { class: "note" });

  constructor(private readonly context: Context) {
    this.all = headFacts(context.run);
    this.columns = usedColumns(this.all);
    this.by = this.columns[0]!;
    const save = () => {
      const rows = this.rows().map((facts) => this.columns.map((column) => column.value(facts)));
      const text = toCsv(
        this.columns.map((column) => column.name),
        rows,
      );
      saveFile("heads.csv", new Blob([text], { type: "text/csv" }));
    };
    this.headings = this.columns.map((column) =>
      el(
        "th",
        { scope: "col", class: this.isNumber(column) ? "number" : "" },
        button(column.label, () => this.sortBy(column), { class: "sort" }),
      ),
    );
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...this.headings)), this.body);
    this.element = el(
      "article",
      { class: "head-table" },
      el("div", { class: "figure-head" }, el("h3", {}, "Heads"), exportMenu("Heads", { CSV: save })),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Heads, one row each" }, table),
      this.more,
    );
    this.fill();
    onHeadFilter(context.store, () => this.fill());
    context.store.subscribe((_, changed) => changed.has("head") && this.mark());
  }

  private isNumber(column: Column): boolean {
    return this.all.some((facts) => typeof column.value(facts) === "number");
  }
  private sortBy(column: Column): void {
    // Numbers are first shown from the largest, texts from A.
    this.descending = column === this.by ? !this.descending : this.isNumber(column);
    this.by = column;
    this.fill();
  }
  private rows(): HeadFacts[] {
    const filter = headFilter(this.context.store);
    return sortFacts(
      this.all.filter((facts) => passes(facts, filter)),
      this.by,
      this.descending,
    );
  }

  private fill(): void {
    const rows = this.rows();
    const shown = this.showsAll ? rows : rows.slice(0, firstRows);
    this.body.replaceChildren(...shown.map((facts) => this.row(facts)));
    this.headings.forEach((heading, i) => {
      if (this.columns[i] === this.by) heading.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    const all = () => {
      this.showsAll = true;
      this.fill();
    };
    this.more.replaceChildren(
      `${shown.length} of ${rows.length} heads. `,
      ...(shown.length < rows.length ? [button("Show all", all)] : []),
    );
    this.mark();
  }
  private row(facts: HeadFacts): HTMLElement {
    const cells = this.columns.map((column) => {
      if (column.name === "head") return el("th", { scope: "row" }, headButton(this.context.store, facts.head.name));
      const value = column.value(facts);
      const text = column.text?.(facts) ?? (typeof value === "number" ? formatNumber(value) : (value ?? "\u2013"));
      return el("td", this.isNumber(column) ? { class: "number" } : {}, text);
    });
    return el("tr", { "data-row": facts.head.name }, ...cells);
  }
  private mark(): void {
    for (const row of this.body.querySelectorAll<HTMLElement>("tr"))
      row.classList.toggle("chosen-row", row.dataset.row === this.context.store.state.head);
  }
}
