import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../src/core/time.ts'
import { retryAfterMs } from '../../src/steps/events/drain-failures.ts'

it('a failed drain is retried after a second, then at doubling intervals of up to a minute, forever', () => {
  expect(retryAfterMs(1)).toBe(SECOND)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER - 1 }), attempts => {
      const [now, next] = [retryAfterMs(attempts), retryAfterMs(attempts + 1)]
      expect(next).toBe(Math.min(MINUTE, 2 * now))
    }),
  )
})
