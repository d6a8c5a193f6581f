import type { Run } from "./run";

/** Returns the query heads whose attention maps belong to a head: itself, or those that use a KV head. */
export function mappedHeads(run: Run, name: string): string[] {
  const head = run.head(name);
  if (!head?.kv) return [name];
  const inLayer = (kv: boolean) => run.heads.filter((one) => one.layer === head.layer && one.kv === kv);
  const group = inLayer(false).length / Math.max(1, inLayer(true).length);
  return inLayer(false)
    .filter((one) => Math.floor(one.index / group) === head.index)
    .map((one) => one.name);
}
