// What explains the change of a metric between two periods: the contribution of each value of a dimension, which add up to it.
//
// A share or average R is Σ wᵢ·rᵢ over the values i: wᵢ is the value's part of the denominator, rᵢ its own rate. Then
//   rate: mean(wᵢ)·Δrᵢ     mix: Δwᵢ·(mean(rᵢ) − (R₀ + R₁)/2)
// add up to ΔR exactly, since Σ Δwᵢ = 0. A value of one period has no rate in the other: its rate counts as unchanged.

/** One value's sums in both periods. */
export interface Parts {
  numerator: number
  /** 1 for metrics without a denominator, which are not quotients. */
  denominator: number
}

export interface Contribution<K> {
  key: K
  /** By the value's own change; for a count all of it. */
  rate: number
  /** By the change of the value's weight. */
  mix: number
  before: Parts
  after: Parts
}

const rateOf = ({ numerator, denominator }: Parts): number | null =>
  denominator === 0 ? null : numerator / denominator

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0)

export interface Explained<K> {
  before: number
  after: number
  /** Largest first. */
  contributions: Contribution<K>[]
}

/**
 * Splits a change into contributions. `isQuotient`: false for counts and sums, whose contributions are differences.
 * Returns null if a period has no observations, since there is no change to explain.
 */
export function explainChange<K>(
  values: readonly { key: K; before: Parts; after: Parts }[],
  isQuotient: boolean,
): Explained<K> | null {
  const total = (side: 'before' | 'after'): Parts => ({
    numerator: sum(values.map(value => value[side].numerator)),
    denominator: sum(values.map(value => value[side].denominator)),
  })
  const [before, after] = [total('before'), total('after')]
  const [first, last] = [before, after].map(side => (isQuotient ? rateOf(side) : side.numerator))
  if (first == null || last == null) return null
  const middle = (first + last) / 2
  const contributions = values.map(value => {
    if (!isQuotient) return { ...value, rate: value.after.numerator - value.before.numerator, mix: 0 }
    const weightBefore = value.before.denominator / before.denominator
    const weightAfter = value.after.denominator / after.denominator
    const rateBefore = rateOf(value.before) ?? rateOf(value.after) ?? middle
    const rateAfter = rateOf(value.after) ?? rateBefore
    return {
      ...value,
      rate: ((weightBefore + weightAfter) / 2) * (rateAfter - rateBefore),
      mix: (weightAfter - weightBefore) * ((rateBefore + rateAfter) / 2 - middle),
    }
  })
  contributions.sort((a, b) => Math.abs(b.rate + b.mix) - Math.abs(a.rate + a.mix))
  return { before: first, after: last, contributions }
}
