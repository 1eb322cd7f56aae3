import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cover, coverAll, gaps, type Interval } from '../../../src/core/planning/coverage.ts'

const LAST = 60

const intervals = fc
  .tuple(fc.integer({ min: 0, max: LAST }), fc.integer({ min: -3, max: 12 }))
  .map(([from, length]): Interval => ({ from, to: from + length }))

const secondsOf = (all: readonly Interval[]): Set<number> =>
  new Set(all.flatMap(({ from, to }) => Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)))

describe('coverage', () => {
  it('holds exactly the seconds of the intervals that were added', () => {
    fc.assert(
      fc.property(fc.array(intervals, { maxLength: 12 }), all => {
        expect(secondsOf(coverAll(all))).toEqual(secondsOf(all))
      }),
    )
  })

  it('is sorted, and no two of its intervals touch', () => {
    fc.assert(
      fc.property(fc.array(intervals, { maxLength: 12 }), all => {
        const coverage = coverAll(all)
        for (const [index, { from, to }] of coverage.entries()) {
          expect(from).toBeLessThanOrEqual(to)
          if (index > 0) expect(from).toBeGreaterThan(coverage[index - 1]!.to + 1)
        }
      }),
    )
  })

  it('does not depend on the order in which intervals are added, nor on repetition', () => {
    fc.assert(
      fc.property(fc.array(intervals, { maxLength: 8 }), fc.array(fc.nat(7), { maxLength: 12 }), (all, again) => {
        const shuffled = [...again.flatMap(index => all[index] ?? []), ...all.toReversed()]
        expect(coverAll(shuffled)).toEqual(coverAll(all))
      }),
    )
  })

  it('does not modify the coverage that it extends', () => {
    const before = Object.freeze([Object.freeze({ from: 1, to: 2 })])
    expect(cover(before, { from: 2, to: 9 })).toEqual([{ from: 1, to: 9 }])
    expect(before).toEqual([{ from: 1, to: 2 }])
  })

  it('merges adjacent intervals, but not those with an uncovered second between them', () => {
    expect(
      coverAll([
        { from: 1, to: 2 },
        { from: 3, to: 4 },
      ]),
    ).toEqual([{ from: 1, to: 4 }])
    expect(
      coverAll([
        { from: 1, to: 2 },
        { from: 4, to: 4 },
      ]),
    ).toHaveLength(2)
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

  it('leave nothing uncovered once they are filled', () => {
    fc.assert(
      fc.property(fc.array(intervals, { maxLength: 8 }), intervals, (all, wanted) => {
        const coverage = coverAll(all)
        expect(gaps(gaps(coverage, wanted).reduce(cover, coverage), wanted)).toEqual([])
      }),
    )
  })
})
