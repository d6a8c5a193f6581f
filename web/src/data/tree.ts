import type { PackedTree } from "./doc";

/** A folder of a partition tree. Folders equal to their parent are left out. */
export interface Folder {
  /** Unique within its tree, and the same in every session. */
  id: string;
  level: number;
  /** In the order of the leaves. */
  elements: number[];
  children: Folder[];
}

/** Converts a tree to nested folders. */
export function nestFolders(tree: PackedTree): Folder {
  const make = (level: number, begin: number, end: number): Folder => {
    let below = level + 1;
    let ends = endsWithin(tree.levels[below], begin, end);
    while (ends.length === 1 && below + 1 < tree.levels.length) {
      ++below;
      ends = endsWithin(tree.levels[below], begin, end);
    }
    const folder: Folder = {
      id: `${begin}-${end}`,
      level,
      elements: tree.order.slice(begin, end),
      children: [],
    };
    if (ends.length < 2) return folder;
    let from = begin;
    for (const to of ends) {
      folder.children.push(make(below, from, to));
      from = to;
    }
    return folder;
  };
  return make(0, 0, tree.n);
}

/** Returns the ends of the folders of a level that lie within [begin, end). */
export function endsWithin(ends: readonly number[] | undefined, begin: number, end: number): number[] {
  return (ends ?? []).filter((one) => one > begin && one <= end);
}

/** Returns the folders to open at start: the largest ones from the root down, until about `lines` lines are visible. */
export function initiallyOpen(root: Folder, lines: number): Set<string> {
  const open = new Set<string>();
  const waiting = [root];
  let shown = 1;
  while (waiting.length > 0) {
    waiting.sort((a, b) => b.elements.length - a.elements.length);
    const folder = waiting.shift()!;
    if (folder.children.length === 0) continue;
    if (shown + folder.children.length - 1 > lines && open.size > 0) continue;
    open.add(folder.id);
    shown += folder.children.length - 1;
    waiting.push(...folder.children);
  }
  return open;
}
