/** Returns positions near the wanted ones, in the same order, at least `gap` apart and within `ends` if possible. */
export function spreadApart(wanted: readonly number[], gap: number, ends: readonly [number, number]): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]! || a - b);
  const places = [...wanted];
  let last = -Infinity;
  for (const i of order) {
    places[i] = Math.max(wanted[i]!, last + gap);
    last = places[i]!;
  }
  // Move positions beyond the end back up.
  let next = Math.max(ends[1], ends[0] + gap * (wanted.length - 1)) + gap;
  for (const i of [...order].reverse()) {
    places[i] = Math.min(places[i]!, next - gap);
    next = places[i]!;
  }
  return places;
}

/** Truncates a text to its first `max` characters: "begin...". */
export function truncateEnd(text: string, max: number): string {
  const points = [...text];
  return points.length > max ? `${points.slice(0, max - 1).join("")}\u2026` : text;
}

/** Truncates a text to its last `max` characters: "...end". Paths usually differ at the end. */
export function truncateStart(text: string, max: number): string {
  const points = [...text];
  return points.length > max ? `\u2026${points.slice(1 - max).join("")}` : text;
}
