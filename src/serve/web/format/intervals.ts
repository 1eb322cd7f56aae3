// How sure one can be of a share, and of the difference of two: 95 % intervals.

const Z = 1.959964

interface Interval {
  low: number
  high: number
}

/** Wilson's score interval of a share of n observations. */
export function wilson(share: number, n: number): Interval {
  const zz = (Z * Z) / n
  const middle = (share + zz / 2) / (1 + zz)
  const half = (Z / (1 + zz)) * Math.sqrt((share * (1 - share)) / n + zz / (4 * n))
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

/** Newcombe's interval (method 10) of the difference `after − before` of two independent shares. */
export function newcombe(before: { share: number; n: number }, after: { share: number; n: number }): Interval {
  const [a, b] = [wilson(after.share, after.n), wilson(before.share, before.n)]
  const difference = after.share - before.share
  return {
    low: difference - Math.hypot(after.share - a.low, b.high - before.share),
    high: difference + Math.hypot(a.high - after.share, before.share - b.low),
  }
}

/** True if a difference of two shares is larger than chance explains. */
export function isClear(before: { share: number; n: number }, after: { share: number; n: number }): boolean {
  const { low, high } = newcombe(before, after)
  return low > 0 || high < 0
}
