import { expect, it } from 'vitest'
import { CONCURRENT_WINDOWS } from '../../workflows/window-loop.ts'
import { killOnTemporal } from '../faults/temporal-kills.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'

describeWithTemporal('a sync by Temporal', ({ command }) => {
  it('whose workers and server are killed at 8 random points loses nothing, doubles nothing, and repeats only what was under way', {
    timeout: 400_000,
  }, async () => {
    const { maxRepaidPerKill, ...report } = await killOnTemporal({ command, kills: 8, seed: 5 })
    expect(report).toMatchObject({ kills: 8, lost: 0, doubled: 0, boughtTwice: 0 })
    // One for each request that may be under way.
    expect(maxRepaidPerKill).toBeLessThanOrEqual(CONCURRENT_WINDOWS)
  })
})
