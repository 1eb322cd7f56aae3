import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coverAll, gaps, type Interval } from '../../../src/core/planning/coverage.ts'

const LAST = 60

const intervals = fc
  .tuple(fc.integer({ min: 0, max: LAST }), fc.integer({ min: -3, max: 12 }))
  .map(([from, length]): Interval => ({ from, to: from + length }))

const secondsOf = (all: readonly Interval[]): Set<number> =>
  new Set(all.flatMap(({ from, to }) => Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)))

describe('coverage', () => {
  it('contains exactly the seconds of the intervals that were added', () => {
    fc.assert(
      fc.property(fc.array(intervals, { maxLength: 12 }), all => {
        expect(secondsOf(coverAll(all))).toEqual(secondsOf(all))
      }),
    )
  })
})

describe('the gaps in coverage', () => {
  it('are exactly the wanted seconds that are not covered, oldest first', () => {
    fc.assert(
      fc.property(fc.array(intervals, { maxLength: 8 }), intervals, (all, wanted) => {
        const covered = secondsOf(all)
        const missing = [...secondsOf([wanted])].filter(second => !covered.has(second))
        const found = gaps(coverAll(all), wanted)
        expect([...secondsOf(found)]).toEqual(missing)
        expect(found.every(gap => gap.from <= gap.to)).toBe(true)
      }),
    )
  })
})
