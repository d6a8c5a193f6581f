/** What identifies an edge: the roles of its ends, and their names. */
export interface EdgeKey {
  pair: string;
  source: string;
  target: string;
}

/** Returns an edge as text: "OK:L4H7>L5H1". */
export const formatEdge = ({ pair, source, target }: EdgeKey): string => `${pair}:${source}>${target}`;

/** Returns an edge for readers: "OK L4H7 → L5H1". */
export const edgeName = ({ pair, source, target }: EdgeKey): string => `${pair} ${source} \u2192 ${target}`;

/** Returns the key of anything that has one. */
export const edgeOf = ({ pair, source, target }: EdgeKey): EdgeKey => ({ pair, source, target });

/** Reads an edge from text; null if the text is not one. */
export function parseEdge(text: string): EdgeKey | null {
  const found = /^([A-Za-z]{1,8}):([A-Za-z0-9.]{1,32})>([A-Za-z0-9.]{1,32})$/.exec(text);
  return found ? { pair: found[1]!, source: found[2]!, target: found[3]! } : null;
}

export const isEdge = (a: EdgeKey, b: EdgeKey | null): boolean =>
  b !== null && a.pair === b.pair && a.source === b.source && a.target === b.target;
