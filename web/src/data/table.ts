import type { PackedTable } from "./doc";

export type Cell = number | string | null;

/** A table, stored by columns. */
export class Table {
  private readonly byName: Map<string, Cell[]>;

  constructor(private readonly packed: PackedTable) {
    this.byName = new Map(packed.columns.map((column) => [column.name, column.values]));
  }

  get rows(): number {
    return this.packed.rows;
  }
  get columns(): string[] {
    return this.packed.columns.map((column) => column.name);
  }
  has(column: string): boolean {
    return this.byName.has(column);
  }
  text(column: string, row: number): string {
    const cell = this.byName.get(column)?.[row];
    return cell === null || cell === undefined ? "" : String(cell);
  }
  /** Returns NaN if the cell is empty or not a number. */
  number(column: string, row: number): number {
    const cell = this.byName.get(column)?.[row];
    return typeof cell === "number" ? cell : NaN;
  }
  /** Returns the columns that contain only numbers and empty cells, and at least one number. */
  numericColumns(): string[] {
    return this.packed.columns
      .filter((column) => column.values.some((v) => typeof v === "number"))
      .filter((column) => column.values.every((v) => v === null || typeof v === "number"))
      .map((column) => column.name);
  }
  cells(): Cell[][] {
    return Array.from({ length: this.rows }, (_, row) => this.packed.columns.map((c) => c.values[row] ?? null));
  }
}

/** Returns the first of these columns that the table has. */
export function firstColumn(table: Table, names: string[]): string | undefined {
  return names.find((name) => table.has(name));
}

/** Returns a number with at most 6 significant digits. Integers keep all digits. */
export const shortNumber = (value: number) => (Number.isInteger(value) ? value : Number(value.toPrecision(6)));

/** Writes CSV (RFC 4180), with at most 6 significant digits. Cells that a spreadsheet would run as a formula get a leading apostrophe. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const quote = (cell: Cell) => {
    if (cell === null || (typeof cell === "number" && Number.isNaN(cell))) return "";
    let text = String(typeof cell === "number" ? shortNumber(cell) : cell);
    if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(quote).join(",")).join("\n") + "\n";
}
