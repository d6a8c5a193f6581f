import type { PrunedModel } from "../data/pruning";
import { categorical } from "../draw/color";

/** What a criterion goes by. */
export const kinds: Record<string, string> = {
  information: "structure: Haar coefficients of attention",
  redundancy: "structure: tree of heads",
  pk: "structure: affinity of weights",
  norm: "size of the weights",
  alone: "measured damage",
  greedy: "measured damage",
  random: "chance",
};

/** The same color for a criterion in every figure and every run. */
export function criterionColor(criterion: string): string {
  return categorical[Object.keys(kinds).indexOf(criterion)] ?? categorical.at(-1)!;
}

export const measureWords: Record<string, string> = {
  damage: "damage",
  loss: "loss, nats",
  accuracy: "accuracy",
  kl: "KL to the unpruned output, nats",
  agreement: "share of outputs that stayed",
  change: "relative change of the output",
};

const damageWords = {
  loss: "damage: loss gained, nats",
  kl: "damage: KL to the unpruned output, nats",
  change: "damage: relative change of the output",
};

export const damageLabel = (pruned: PrunedModel) => damageWords[pruned.basis];

/** What the score of a criterion is. */
export const scoreWords: Record<string, string> = {
  information: "l1 / l2 of Haar coefficients",
  redundancy: "distance to a kept head",
  pk: "PK strength (sum of z)",
  norm: "norm of the OV product",
  alone: "damage alone",
  greedy: "damage so far",
};
