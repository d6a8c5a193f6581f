import type { Run } from "./run";

/**
 * Returns the query heads whose attention maps belong to a head: itself, or those that use a KV head, which may be in
 * later layers. Older runs do not state these; there, the heads of a layer share its KV heads in equal groups.
 */
export function mappedHeads(run: Run, name: string): string[] {
  const head = run.head(name);
  if (!head?.kv) return [name];
  const table = run.table("heads");
  if (table?.has("uses")) {
    const rows = Array.from({ length: table.rows }, (_, row) => row);
    return rows.filter((row) => table.text("uses", row) === name).map((row) => table.text("head", row));
  }
  const inLayer = (kv: boolean) =>
    run.heads.filter((one) => one.block === head.block && one.layer === head.layer && one.kv === kv);
  const group = inLayer(false).length / Math.max(1, inLayer(true).length);
  return inLayer(false)
    .filter((one) => Math.floor(one.index / group) === head.index)
    .map((one) => one.name);
}
