import fc from 'fast-check'
import { expect, it } from 'vitest'
import { explainChange } from '../../src/metrics/explain.ts'

const parts = fc
  .record({ numerator: fc.nat(1_000), denominator: fc.nat(1_000) })
  .map(({ numerator, denominator }) => ({ numerator: Math.min(numerator, denominator), denominator }))

const values = fc
  .array(fc.record({ before: parts, after: parts }), { minLength: 1, maxLength: 12 })
  .map(all => all.map((one, key) => ({ key, ...one })))

it('contributions add up to the change, of a rate by rate and mix, of a count by difference', () => {
  fc.assert(
    fc.property(values, fc.boolean(), (all, isQuotient) => {
      const explained = explainChange(all, isQuotient)
      const weight = (side: 'before' | 'after') => all.reduce((sum, one) => sum + one[side].denominator, 0)
      if (isQuotient && weight('before') * weight('after') === 0) {
        expect(explained).toBeNull()
        return
      }
      const sum = explained!.contributions.reduce((total, { rate, mix }) => total + rate + mix, 0)
      expect(sum).toBeCloseTo(explained!.after - explained!.before, 9)
    }),
  )
})

it('a value that exists in one period only contributes by mix, and equal rates by nothing but mix', () => {
  const [only] = explainChange(
    [
      { key: 'new', before: { numerator: 0, denominator: 0 }, after: { numerator: 10, denominator: 10 } },
      { key: 'old', before: { numerator: 5, denominator: 10 }, after: { numerator: 5, denominator: 10 } },
    ],
    true,
  )!.contributions.filter(({ key }) => key === 'new')
  expect(only).toMatchObject({ rate: 0 })
  expect(only!.mix).toBeCloseTo(0.1875, 9)
})
