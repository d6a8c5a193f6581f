/**
 * The attention of a model with an encoder and a decoder has three blocks of layers: the encoder's, the decoder's, and
 * cross-attention from the decoder to the encoder. Every other model has one block without a name.
 */
export type Block = "" | "encoder" | "decoder" | "cross";

/** All blocks, in the order in which files list their heads. */
export const blocks: readonly Block[] = ["", "encoder", "decoder", "cross"];

/** A layer of a block. Each block numbers its layers from 0. */
export interface BlockLayer {
  block: Block;
  layer: number;
}

export interface Head extends BlockLayer {
  name: string;
  index: number;
  kv: boolean;
  classes: string[];
}

/** Parses "L4H7", "L4KV1" or "cross.L4H7". Returns null for any other text. */
export function parseHead(name: string): Head | null {
  const match = /^(?:(encoder|decoder|cross)\.)?L(\d{1,6})(H|KV)(\d{1,6})$/.exec(name);
  if (!match) return null;
  const block = (match[1] ?? "") as Block;
  return { name, block, layer: Number(match[2]), index: Number(match[4]), kv: match[3] === "KV", classes: [] };
}

/** Orders heads by block and layer, then query heads before KV heads, then by index. */
export function compareHeads(a: Head, b: Head): number {
  const block = blocks.indexOf(a.block) - blocks.indexOf(b.block);
  return block || a.layer - b.layer || Number(a.kv) - Number(b.kv) || a.index - b.index;
}

/** Place within the decoder: the layer, then self-attention before cross-attention. */
const decoderPlace = ({ block, layer }: BlockLayer) => 2 * layer + (block === "cross" ? 1 : 0);

/** Orders layers as they run: all of the encoder, then self-attention before cross-attention in each layer of the decoder. */
export function compareRun(a: BlockLayer, b: BlockLayer): number {
  if (a.block === b.block) return a.layer - b.layer;
  if (a.block === "encoder" || b.block === "encoder") return a.block === "encoder" ? -1 : 1;
  return decoderPlace(a) - decoderPlace(b);
}

/** Returns the residual stream that a matrix of a role reads or writes: cross-attention has K and V in the encoder's. */
function streamOf(block: Block, role: string): "encoder" | "main" {
  return block === "encoder" || (block === "cross" && (role === "K" || role === "V")) ? "encoder" : "main";
}

/** Whether what one head does in role `from` can matter to another in role `to`: it runs before, in the same stream. */
export function precedes(source: BlockLayer, from: string, target: BlockLayer, to: string): boolean {
  return streamOf(source.block, from) === streamOf(target.block, to) && compareRun(source, target) < 0;
}
