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
