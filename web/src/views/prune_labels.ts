import type { PrunedModel } from "../data/pruning";
import { categorical } from "../draw/color";

/** What a criterion is based on. */
export const criterionBasis: Record<string, string> = {
  information: "structure: Haar coefficients of attention",
  redundancy: "structure: tree of heads",
  pk: "structure: affinity of weights",
  norm: "size of the weights",
  alone: "measured damage",
  greedy: "measured damage",
  random: "chance",
  energy: "size of what the head writes",
  variation: "size of what the head writes",
};

// There are more criteria than categorical colors.
const variationColor = "#332288";

/** Returns the color of a criterion. It is the same in every figure and every run. */
export function criterionColor(criterion: string): string {
  if (criterion === "variation") return variationColor;
  return categorical[Object.keys(criterionBasis).indexOf(criterion)] ?? categorical.at(-1)!;
}

export const measureLabels: Record<string, string> = {
  damage: "damage",
  loss: "loss, nats",
  accuracy: "accuracy",
  kl: "KL to the unpruned output, nats",
  agreement: "share of unchanged outputs",
  change: "relative change of the output",
};

const damageLabels = {
  loss: "damage: increase in loss, nats",
  kl: "damage: KL to the unpruned output, nats",
  change: "damage: relative change of the output",
};

export const damageLabel = (pruned: PrunedModel) => damageLabels[pruned.basis];

/** Meaning of the score of a criterion. */
export const scoreLabels: Record<string, string> = {
  information: "l1 / l2 of Haar coefficients",
  redundancy: "distance to a kept head",
  pk: "PK strength (sum of z)",
  norm: "norm of the OV product",
  alone: "damage if removed alone",
  greedy: "total damage so far",
  energy: "share of the stream",
  variation: "share of the stream's variation",
};
