type Child = Node | string | null | undefined;

/** Creates an element. Strings become text nodes, never HTML. */
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

/** Makes a token readable: spaces, line breaks and tabs become visible symbols, control characters U+FFFD. */
export function visibleToken(text: string): string {
  return text
    .replaceAll(" ", "\u00b7")
    .replaceAll("\n", "\u21b5")
    .replaceAll("\t", "\u21e5")
    .replace(/[\u0000-\u001f\u007f]/g, "\ufffd");
}

/** Returns a token for use inside a line of text, isolated so that right-to-left tokens do not reorder the line. */
export const isolated = (text: string) => `\u2068${visibleToken(text)}\u2069`;
