/** Removes entries from the beginning of a map until the sizes of the others add up to at most `most`; the last entry stays in any case. */
export function forgetOldest<T>(kept: Map<string, T>, most: number, sizeOf: (value: T) => number): void {
  let sum = 0
  for (const value of kept.values()) sum += sizeOf(value)
  for (const [key, value] of kept) {
    if (sum <= most || kept.size === 1) return
    kept.delete(key)
    sum -= sizeOf(value)
  }
}
