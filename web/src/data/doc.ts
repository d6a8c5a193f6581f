// Format of the data that the program writes into a page. src/report/ writes it.

/** Numbers in a block of the page. u8, u16: low + (high - low) * (code / top)^power; all bits set means "no value". */
export interface PackedArray {
  block: number;
  type: "u8" | "u16" | "f32";
  shape: number[];
  low?: number[];
  high?: number[];
  power?: number;
}

export interface PackedTable {
  rows: number;
  columns: { name: string; values: (number | string | null)[] }[];
}

export interface Histogram {
  low: number;
  width: number;
  counts: number[];
  random?: { mean: number; sd: number };
}

export interface PackedAffinity {
  metric: string;
  pair: string;
  rows: "query" | "kv";
  columns: "query" | "kv";
  histogram: Histogram | null;
  array?: PackedArray;
}

/** `order`: the leaves from left to right. `levels`, root first: the end of each folder in that order. */
export interface PackedTree {
  n: number;
  order: number[];
  levels: number[][];
  names?: string[];
}

export interface Axis {
  n: number;
  embedding?: PackedArray;
  order?: number[];
  affinity?: PackedArray | null;
}

export interface Token {
  text: string;
  id?: number;
  row?: number;
  column?: number;
}

export interface Tokens {
  kind?: string;
  /** Attention windows by layer, in tokens; 0: none. */
  windows?: number[];
  mask?: string;
  heads: string[];
  first_query?: number;
  tokens: Token[];
  /** Tokens of the queries, if they are not among the keys: cross-attention. */
  query_tokens?: Token[];
  /** encoder, decoder or cross, if the model has such blocks. */
  block?: string;
  image?: { height?: number; width?: number; grid?: [number, number] };
}

/**
 * Maps of one input. Entries that the mask hides have no value. If all maps are too large for the page (side > 1), they
 * are means over blocks of at most side x side tokens, of the entries that the mask allows: neighbors in a text or in a
 * row of patches; special tokens and the first token of a text are blocks of their own.
 */
export interface MapSet {
  side: number;
  queries: number;
  keys: number;
  maps: PackedArray;
  /** First row (query) and first column (key) of each block; only if side > 1. */
  starts?: number[];
  key_starts?: number[];
  /** Some heads (indices in tokens.heads) as they are, if the others are averaged; maps [heads, queries, keys]. */
  full?: { heads: number[]; maps: PackedArray };
  /** Rows and columns in the order of organize. */
  rows?: number[];
  columns?: number[];
  /** The averaged maps in that order; only if side > 1. */
  organized?: PackedArray;
}

/** The maps of one input; with an encoder and a decoder, those of one block. */
export interface Input {
  /** Unique among the inputs: the name of a file, or "input 2". */
  name: string;
  /** The same for all blocks of an input. */
  number: number;
  /** In the run: "", "inputs/2/" or "cross/inputs/2/". */
  folder: string;
  /** Name of the file that it came from, without its folder. */
  file?: string;
  /** Of an image: number of patches, without class and register tokens. */
  patches?: number;
  /** Of an image: exactly what the patches cover, [height, width, 3]. The codes are levels 0 to 255, none is missing. */
  thumbnail?: PackedArray;
  tokens: Tokens;
  pattern?: MapSet;
  scores?: MapSet;
  summary?: { entropy: number[]; largest: number[]; first: number[] };
}

export interface Panel {
  name: string;
  rows: number;
  columns: number;
  side: number;
  array: PackedArray;
}

/** Results of prune that are not in its tables. */
export interface Pruning {
  /** One sentence: whether structure beats chance. */
  said: string;
  /** Measure of damage: "loss", "kl" or "change". */
  measure: string;
  heads: number;
  removed: number;
  chosen_on: number;
  measured_on: number;
  held_out: boolean;
  /** One sentence: what removed heads write. Empty in older runs. */
  replacement_note: string;
  structural: string[];
}

/** Results of compare that are not in its tables. */
export interface Comparison {
  runs: { name: string; kind: string; inputs: number; heads: number; tokens: string }[];
  /** a and b are indices of runs. */
  pairs: { a: number; b: number; differ: number; tested: number; verdict: string }[];
  /** [run, run] */
  distances: (number | null)[];
  axes: ComparedAxis[];
}

/** Organization of the first input of a run. Affinities are in tree order, averaged over blocks of side x side. */
export interface ComparedAxis {
  run: number;
  axis: "head" | "query" | "key";
  side: number;
  tree: PackedTree;
  array: PackedArray;
}

export interface ManifestFile {
  kind?: string;
  about?: string;
  command?: string;
  shape?: number[];
  dtype?: string;
}

export interface ManifestCommand {
  arguments?: string[];
  identity?: Record<string, string>;
  circumstances?: Record<string, string>;
  /** What the results support, in sentences; the first one is the headline. */
  verdict?: string[];
}

export interface Doc {
  format: number;
  title: string;
  program: string;
  notes: string[];
  manifest: { files: Record<string, ManifestFile>; commands: Record<string, ManifestCommand> };
  tables?: Record<string, PackedTable>;
  affinities?: PackedAffinity[];
  trees?: Partial<Record<"communities" | "head" | "consensus" | "query" | "key", PackedTree>>;
  axes?: Partial<Record<"head" | "query" | "key", Axis>>;
  inputs?: Input[];
  /** Index of the input whose trees and tables these commands wrote. */
  main_input?: { organize?: number; softmax?: number };
  paraproducts?: { head: string; panels: Panel[] }[];
  prune?: Pruning;
  comparison?: Comparison;
}
