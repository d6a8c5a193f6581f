import type { Input } from "./doc";

/**
 * One input of capture. With an encoder and a decoder its maps are in parts, one per block of heads; otherwise there is
 * one part.
 */
export class CapturedInput {
  constructor(readonly parts: readonly Input[]) {}

  /** What describes the input as a whole: with an encoder, its tokens are those of the source. */
  get first(): Input {
    return this.parts[0]!;
  }
  /** All heads with maps. */
  get heads(): string[] {
    return this.parts.flatMap((part) => part.tokens.heads);
  }
  /** Returns the part that has the maps of a head. */
  partOf(head: string): Input | undefined {
    return this.parts.find((part) => part.tokens.heads.includes(head));
  }
  /** Returns a number of the summaries of the maps per head; empty if the page has none. */
  summaryOf(what: "entropy" | "largest" | "first"): Map<string, number> {
    return new Map(
      this.parts.flatMap(({ tokens, summary }) =>
        tokens.heads.flatMap((head, i) => {
          const value = summary?.[what][i];
          return value === undefined ? [] : [[head, value] as const];
        }),
      ),
    );
  }
}

/** Groups the parts of the page by input. */
export function groupInputs(parts: readonly Input[]): CapturedInput[] {
  const groups = new Map<number, Input[]>();
  for (const part of parts) {
    if (!groups.has(part.number)) groups.set(part.number, []);
    groups.get(part.number)!.push(part);
  }
  return [...groups.values()].map((group) => new CapturedInput(group));
}

/** Returns the tokens of the queries: those of the keys, except in cross-attention. */
export const queryTokens = ({ tokens }: Input) => tokens.query_tokens ?? tokens.tokens;

/** Whether rows and columns of the maps are of different tokens. */
export const isCross = ({ tokens }: Input) => tokens.query_tokens !== undefined;
