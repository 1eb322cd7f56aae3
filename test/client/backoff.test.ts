import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs } from '../../src/client/http/attempts.ts'

describe('the wait between attempts', () => {
  it('doubles from half a second up to twenty seconds', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 50].map(attempt => backoffMs(attempt, 1))
    expect(longest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000])
  })

  it('is random below that limit, and never shorter than the vendor asks', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), random, fc.nat(60_000), (attempt, chance, retryAfterMs) => {
        const wait = backoffMs(attempt, chance, retryAfterMs)
        expect(wait).toBeGreaterThanOrEqual(retryAfterMs)
        expect(wait - retryAfterMs).toBeLessThan(Math.min(20_000, 500 * 2 ** (attempt - 1)))
      }),
    )
  })
})
