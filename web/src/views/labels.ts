/** Places near those wanted, at least `gap` apart and within the ends where they fit, in the same order. */
export function apart(wanted: readonly number[], gap: number, ends: readonly [number, number]): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]! || a - b);
  const places = [...wanted];
  let last = -Infinity;
  for (const i of order) {
    places[i] = Math.max(wanted[i]!, last + gap);
    last = places[i]!;
  }
  // What has been pushed out below comes back up.
  let next = Math.max(ends[1], ends[0] + gap * (wanted.length - 1)) + gap;
  for (const i of [...order].reverse()) {
    places[i] = Math.min(places[i]!, next - gap);
    next = places[i]!;
  }
  return places;
}

/** A text cut to a number of characters. */
export function shortened(text: string, most: number): string {
  const points = [...text];
  return points.length > most ? `${points.slice(0, most - 1).join("")}\u2026` : text;
}

/** The end of a text that is too long: of paths, what tells them apart. */
export function ending(text: string, most: number): string {
  const points = [...text];
  return points.length > most ? `\u2026${points.slice(1 - most).join("")}` : text;
}
