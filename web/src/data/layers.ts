import { blocks, compareRun, type Block, type BlockLayer } from "./head";

/** The layers of a model, in the two orders in which figures show them. */
export class Layers {
  /** Block by block: encoder, decoder, cross-attention. */
  readonly byBlock: readonly BlockLayer[];
  /** As they run. */
  readonly asRun: readonly BlockLayer[];
  /** The blocks that have layers. */
  readonly blocks: readonly Block[];
  private readonly bands = new Map<Block, number[]>();
  private readonly columns = new Map<Block, number[]>();

  /** All layers up to the last one that is given, per block: layers without heads count. */
  constructor(given: Iterable<BlockLayer>) {
    const counts = new Map<Block, number>();
    for (const { block, layer } of given) counts.set(block, Math.max(counts.get(block) ?? 0, layer + 1));
    this.blocks = blocks.filter((block) => counts.has(block));
    this.byBlock = this.blocks.flatMap((block) =>
      Array.from({ length: counts.get(block)! }, (_, layer) => ({ block, layer })),
    );
    this.asRun = [...this.byBlock].sort(compareRun);
    const place = (order: readonly BlockLayer[], places: Map<Block, number[]>) =>
      order.forEach(({ block, layer }, i) => {
        if (!places.has(block)) places.set(block, []);
        places.get(block)![layer] = i;
      });
    place(this.byBlock, this.bands);
    place(this.asRun, this.columns);
  }

  get count(): number {
    return this.byBlock.length;
  }
  /** Whether the layers are in blocks with names. */
  get named(): boolean {
    return this.blocks.some((block) => block !== "");
  }
  /** Number of layers of a block. */
  countOf(block: Block): number {
    return this.bands.get(block)?.length ?? 0;
  }
  /** Returns the place of a layer in `byBlock`; NaN if there is no such layer. */
  band({ block, layer }: BlockLayer): number {
    return this.bands.get(block)?.[layer] ?? NaN;
  }
  /** Returns the place of a layer in `asRun`; NaN if there is no such layer. */
  column({ block, layer }: BlockLayer): number {
    return this.columns.get(block)?.[layer] ?? NaN;
  }
}

/** Returns a layer in words: "layer 4", "encoder layer 4", "cross-attention layer 4". */
export function layerName(at: BlockLayer): string {
  return `${at.block === "" ? "" : `${blockName(at.block)} `}layer ${at.layer}`;
}

/** Returns a block in words. */
export const blockName = (block: Block) => (block === "cross" ? "cross-attention" : block);

/** Returns a layer as a choice in a list: "4", "encoder 4". */
export const layerLabel = ({ block, layer }: BlockLayer) => (block === "" ? String(layer) : `${block} ${layer}`);
