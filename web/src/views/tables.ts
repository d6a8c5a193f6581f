import type { Run } from "../data/run";
import type { View } from "../ui/context";
import { tableCard } from "../ui/table_card";

/** Tables that other views show. */
const shown = new Set([
  "heads",
  "attention",
  "edges",
  "wiring",
  "hubs",
  "informativeness",
  "tokens",
  "detectors",
  "detector_lengths",
  "sparsity",
  "inputs",
  "stability",
  "decay",
  "invariance",
  "invariance_levels",
  "convergence",
  "patch",
  "patch_agreement",
  "patch_components",
  "patch_component_agreement",
  "ranking",
  "curve",
  "comparison",
  "features",
]);

function others(run: Run): string[] {
  return run.tableNames().filter((name) => !shown.has(name) && run.table(name)!.rows > 0);
}

/** Shows all other tables of the run. */
export const tables: View = {
  id: "tables",
  title: "Other tables",
  about: "Tables of the run without a figure of their own.",
  available: (run) => others(run).length > 0,
  mount(section, { run }) {
    for (const name of others(run)) {
      const table = run.table(name)!;
      const about = run.doc.manifest.files[`${name}.csv`]?.about ?? "";
      section.append(tableCard({ name, title: name, about, columns: table.columns, rows: table.cells() }));
    }
  },
};
