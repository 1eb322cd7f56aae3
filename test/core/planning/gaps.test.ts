import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { retryAtMs } from '../../../src/core/planning/gaps.ts'
import { DAY, HOUR } from '../../../src/core/time.ts'

describe('a gap', () => {
  it('is asked again at growing intervals, at most a day, however often it was tried', () => {
    expect([1, 2, 3, 4, 5].map(tries => retryAtMs({ lastTriedMs: 0, tries }) / HOUR)).toEqual([2, 4, 8, 16, 24])
    fc.assert(
      fc.property(fc.nat(), fc.nat(5_000), (lastTriedMs, tries) => {
        const waitMs = retryAtMs({ lastTriedMs, tries }) - lastTriedMs
        expect(waitMs).toBeGreaterThanOrEqual(HOUR)
        expect(waitMs).toBeLessThanOrEqual(DAY)
        expect(retryAtMs({ lastTriedMs, tries: tries + 1 }) - lastTriedMs).toBeGreaterThanOrEqual(waitMs)
      }),
    )
  })
})
