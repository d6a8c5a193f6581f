import type { View } from "../ui/context";
import type { TabId } from "../ui/store";
import { compare } from "./compare";
import { convergence } from "./convergence";
import { details } from "./details";
import { detectors } from "./detectors";
import { edgeTable } from "./edge_table";
import { embedding } from "./embedding";
import { glossary } from "./glossary";
import { graph } from "./graph";
import { headGrid } from "./head_grid";
import { headPage } from "./head_page";
import { headTable } from "./head_table";
import { informativeness } from "./informativeness";
import { maps } from "./maps";
import { matrices } from "./matrices";
import { patch } from "./patch";
import { prune } from "./prune";
import { softmax } from "./softmax";
import { sparsity } from "./sparsity";
import { story } from "./story";
import { summary } from "./summary";
import { tables } from "./tables";
import { tree } from "./tree";
import { wiring } from "./wiring";

/** A tab of the page: its sections in order. */
export interface Tab {
  id: TabId;
  title: string;
  views: View[];
}

/** All tabs with all views. Add new views here. */
export const tabs: Tab[] = [
  { id: "story", title: "Story", views: [story] },
  { id: "heads", title: "Heads", views: [headGrid, headPage, headTable, detectors] },
  { id: "circuit", title: "Circuit", views: [wiring, matrices, edgeTable, graph] },
  { id: "evidence", title: "Evidence", views: [maps, patch, prune, compare] },
  {
    id: "methods",
    title: "Methods",
    views: [summary, informativeness, tree, embedding, convergence, sparsity, softmax, tables, details, glossary],
  },
];
