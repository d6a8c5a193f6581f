/** Returns the min; infinity for no values. Math.min(...values) fails for arrays that do not fit on the stack. */
export function minOf(values: Iterable<number>): number {
  let result = Infinity;
  for (const value of values) if (value < result) result = value;
  return result;
}

/** Returns the max; minus infinity for no values. */
export function maxOf(values: Iterable<number>): number {
  let result = -Infinity;
  for (const value of values) if (value > result) result = value;
  return result;
}

/** Returns the median (the mean of the two middle values for an even count); NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  return n === 0 ? NaN : (sorted[(n - 1) >> 1]! + sorted[n >> 1]!) / 2;
}

/** Returns the mean; NaN for no values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
