import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../src/core/time.ts'
import { retryAfterMs } from '../../src/steps/events/drain-failures.ts'

it('what fails is tried again after a second at first, then less and less often, and for ever once a minute at least', () => {
  expect(retryAfterMs(1)).toBe(SECOND)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER - 1 }), attempts => {
      const [now, next] = [retryAfterMs(attempts), retryAfterMs(attempts + 1)]
      expect(next).toBe(Math.min(MINUTE, 2 * now))
    }),
  )
})
