export interface Head {
  name: string;
  layer: number;
  index: number;
  kv: boolean;
  classes: string[];
}

/** Parses "L4H7" or "L4KV1". Returns null for any other text. */
export function parseHead(name: string): Head | null {
  const match = /^L(\d{1,6})(H|KV)(\d{1,6})$/.exec(name);
  if (!match) return null;
  return { name, layer: Number(match[1]), index: Number(match[3]), kv: match[2] === "KV", classes: [] };
}

/** Orders heads by layer, then query heads before KV heads, then by index. */
export function compareHeads(a: Head, b: Head): number {
  return a.layer - b.layer || Number(a.kv) - Number(b.kv) || a.index - b.index;
}
