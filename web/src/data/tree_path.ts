import type { PackedTree } from "./doc";
import { nestFolders } from "./tree";

/** The place of an element in a tree. */
export interface TreePath {
  /** Sizes of the folders that contain the element, the root first. */
  sizes: number[];
  /** The other elements of the smallest folder with more than one element. */
  siblings: string[];
}

/** Returns the place of a named element in a tree; null if the tree does not have it. */
export function treePath(tree: PackedTree, name: string): TreePath | null {
  const element = tree.names?.indexOf(name) ?? -1;
  if (element < 0) return null;
  const sizes: number[] = [];
  let siblings: number[] = [];
  for (
    let folder: ReturnType<typeof nestFolders> | undefined = nestFolders(tree);
    folder;
    folder = folder.children.find((child) => child.elements.includes(element))
  ) {
    sizes.push(folder.elements.length);
    if (folder.elements.length > 1) siblings = folder.elements.filter((one) => one !== element);
  }
  return { sizes, siblings: siblings.map((one) => tree.names![one]!) };
}
