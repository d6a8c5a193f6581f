import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { npy } from "./file_formats.mjs";

const csvCell = (cell) => (/[",\r\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));

/** Writes the files of a RUN and its manifest. */
export class RunWriter {
  constructor(folder, command) {
    this.folder = folder;
    this.command = command;
    this.files = {};
    this.commands = {};
  }
  put(name, bytes, entry) {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    this.files[name] = { kind: "test", about: `Synthetic test data: ${name}.`, command: this.command, ...entry };
  }
  table(name, columns, rows) {
    this.put(name, [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\n") + "\n", {
      kind: "table",
      shape: [rows.length, columns.length],
    });
  }
  array(name, values, shape, type = "<f4") {
    this.put(name, npy(values, shape, type), { kind: "array", shape, dtype: type === "<f4" ? "float32" : "int64" });
  }
  begin(command, identity = {}, verdict = []) {
    this.command = command;
    this.commands[command] = {
      arguments: [command, "models/made up", "-o", "run"],
      identity: { model: "0123456789abcdef", weights: "folded", seed: "7", version: "0.0.0", ...identity },
      circumstances: { threads: "2", seconds: "0.25", peak_memory: "52428800" },
      ...(verdict.length > 0 ? { verdict } : {}),
    };
  }
  finish() {
    writeFileSync(
      join(this.folder, "manifest.json"),
      JSON.stringify({ schema: 2, files: this.files, commands: this.commands }, null, 1),
    );
  }
}
