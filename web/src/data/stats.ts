/** The least of many numbers; infinity if there is none. Math.min takes no more arguments than the stack holds. */
export function least(values: Iterable<number>): number {
  let result = Infinity;
  for (const value of values) if (value < result) result = value;
  return result;
}

/** The largest of many numbers; minus infinity if there is none. */
export function largest(values: Iterable<number>): number {
  let result = -Infinity;
  for (const value of values) if (value > result) result = value;
  return result;
}

/** The middle of some numbers, or the mean of the two in the middle; NaN if there is none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  return n === 0 ? NaN : (sorted[(n - 1) >> 1]! + sorted[n >> 1]!) / 2;
}

/** NaN if there is none. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
