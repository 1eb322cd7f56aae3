// What the dashboard writes: values with units, and intervals of shares.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isClear, newcombe, wilson } from '../../../src/serve/web/format/intervals.ts'
import { changeText, durationText, tickText, tooFewText, valueText } from '../../../src/serve/web/format/values.ts'

/** Numbers follow the language of the reader's system. */
const isEnglish = new Intl.NumberFormat().resolvedOptions().locale.startsWith('en')

describe.runIf(isEnglish)('values', () => {
  it('have their unit', () => {
    expect(valueText(1_234, 'count')).toBe('1,234')
    expect(valueText(0.4567, 'share', 120)).toBe('46%')
    expect(valueText(0.4567, 'share', 1_200)).toBe('45.7%')
    expect(valueText(0.0834, 'usd')).toBe('$0.083')
    expect(valueText(12.5, 'usd')).toBe('$12.50')
    expect(valueText(4.8333, 'score')).toBe('4.83')
    expect(valueText(25_480_000, 'tokens')).toBe('25.5M tokens')
    expect(valueText(3.5, 'unstated')).toBe('3.50 units')
    expect(tooFewText(3)).toBe('too few (n = 3)')
  })

  it('that are durations have the two largest units', () => {
    expect([4.2, 42, 232, 240, 750, 7_800, 270_000].map(durationText)).toEqual([
      '4.2 s',
      '42 s',
      '3 min 52 s',
      '4 min',
      '13 min',
      '2 h 10 min',
      '3 days 3 h',
    ])
  })

  it('on an axis have no needless decimals', () => {
    expect([0, 5, 10].map(value => tickText(value, 'usd'))).toEqual(['$0', '$5', '$10'])
    expect([0, 0.5, 1].map(value => tickText(value, 'share'))).toEqual(['0%', '50%', '100%'])
  })

  it('that are shares change by points, others by percentages', () => {
    expect(changeText(0.49, 0.37, 'share')).toBe('+12 points')
    expect(changeText(90, 100, 'count')).toBe('-10%')
    expect(changeText(5, 0, 'count')).toBeNull()
  })
})

const observed = fc
  .integer({ min: 10, max: 10_000 })
  .chain(n => fc.record({ n: fc.constant(n), k: fc.integer({ min: 0, max: n }) }))
const shareOf = ({ n, k }: { n: number; k: number }) => ({ value: k / n, n })

describe('intervals', () => {
  it('are those of the literature', () => {
    // Newcombe (1998), two papers on single proportions and on differences: 81/263, and 56/70 against 48/80.
    expect(wilson({ value: 81 / 263, n: 263 }).low).toBeCloseTo(0.2553, 4)
    expect(wilson({ value: 81 / 263, n: 263 }).high).toBeCloseTo(0.3662, 4)
    const { low, high } = newcombe({ value: 48 / 80, n: 80 }, { value: 56 / 70, n: 70 })
    expect([low, high].map(value => Number(value.toFixed(4)))).toEqual([0.0524, 0.3339])
  })

  it('contain the share, lie within 0 and 1, and shrink with n', () => {
    fc.assert(
      fc.property(observed, one => {
        const { value, n } = shareOf(one)
        const { low, high } = wilson({ value, n })
        const wider = wilson({ value, n: n / 2 })
        expect(low).toBeGreaterThanOrEqual(0)
        expect(high).toBeLessThanOrEqual(1)
        expect(low).toBeLessThanOrEqual(value + 1e-12)
        expect(high).toBeGreaterThanOrEqual(value - 1e-12)
        expect(high - low).toBeLessThanOrEqual(wider.high - wider.low + 1e-12)
      }),
    )
  })

  it('of a difference and of its reverse mirror each other, and equal shares do not differ', () => {
    fc.assert(
      fc.property(observed, observed, (a, b) => {
        const [forth, back] = [newcombe(shareOf(a), shareOf(b)), newcombe(shareOf(b), shareOf(a))]
        expect(forth.low).toBeCloseTo(-back.high, 9)
        expect(forth.high).toBeCloseTo(-back.low, 9)
        expect(isClear(shareOf(a), shareOf(a))).toBe(false)
      }),
    )
  })
})
