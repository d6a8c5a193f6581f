type Child = Node | string | null | undefined;

/** An element. Text only ever becomes text: children that are strings are text nodes. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

let count = 0;
export const uniqueId = (prefix: string) => `${prefix}-${++count}`;

/** A token as a person can see it: blanks and line ends have signs, direction does not leak out (isolate). */
export function visibleToken(text: string): string {
  return text
    .replaceAll(" ", "\u00b7")
    .replaceAll("\n", "\u21b5")
    .replaceAll("\t", "\u21e5")
    .replace(/[\u0000-\u001f\u007f]/g, "\ufffd");
}

/** A token within a line of text of another direction. */
export const isolated = (text: string) => `\u2068${visibleToken(text)}\u2069`;
