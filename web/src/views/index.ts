import type { View } from "../ui/context";
import { compare } from "./compare";
import { convergence } from "./convergence";
import { details } from "./details";
import { detectors } from "./detectors";
import { embedding } from "./embedding";
import { graph } from "./graph";
import { informativeness } from "./informativeness";
import { maps } from "./maps";
import { matrices } from "./matrices";
import { overview } from "./overview";
import { patch } from "./patch";
import { prune } from "./prune";
import { softmax } from "./softmax";
import { sparsity } from "./sparsity";
import { tables } from "./tables";
import { tree } from "./tree";
import { wiring } from "./wiring";

/** All views in the order of the page. Add new views here. */
export const views: View[] = [
  overview,
  wiring,
  graph,
  patch,
  matrices,
  informativeness,
  tree,
  detectors,
  maps,
  embedding,
  convergence,
  sparsity,
  softmax,
  prune,
  compare,
  tables,
  details,
];
