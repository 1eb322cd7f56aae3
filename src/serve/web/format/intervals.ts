// How sure one can be of a share, and of the difference of two: 95 % intervals.

const Z = 1.959964

interface Interval {
  low: number
  high: number
}

/** A share of n observations. */
interface Share {
  value: number
  n: number
}

/** Wilson's score interval. */
export function wilson({ value, n }: Share): Interval {
  const zz = (Z * Z) / n
  const middle = (value + zz / 2) / (1 + zz)
  const half = (Z / (1 + zz)) * Math.sqrt((value * (1 - value)) / n + zz / (4 * n))
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

/** Newcombe's interval (method 10) of the difference `after − before` of two independent shares. */
export function newcombe(before: Share, after: Share): Interval {
  const [a, b] = [wilson(after), wilson(before)]
  const difference = after.value - before.value
  return {
    low: difference - Math.hypot(after.value - a.low, b.high - before.value),
    high: difference + Math.hypot(a.high - after.value, before.value - b.low),
  }
}

/** True if a difference of two shares is larger than chance explains. */
export function isClear(before: Share, after: Share): boolean {
  const { low, high } = newcombe(before, after)
  return low > 0 || high < 0
}
