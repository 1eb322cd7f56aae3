// Random kills of workers and of the Temporal server during a sync; the seed chooses victims and times.
import { expect, it } from 'vitest'
import { CONCURRENT_WINDOWS } from '../../../workflows/window-loop.ts'
import { killOnTemporal } from '../../faults/kills/temporal-kills.ts'
import { describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { isDeep, rounds } from '../../tier.ts'

const KILLS = rounds('TEMPORAL_KILLS', { usual: 3, deep: 40 })
/** With this seed, the first victims are an export worker, the warehouse worker and the server. */
const SEED = 4

describeWithTemporal('a sync on Temporal', ({ command }) => {
  // Deep tier only: npm test kills a worker of each role during a lease (workers.test.ts), and `up` with its server (up.test.ts).
  it.runIf(isDeep)(
    'whose workers and server are killed at random points loses and duplicates nothing, and repeats only requests in flight',
    {
      timeout: 600_000 + KILLS * 40_000,
    },
    async () => {
      const { maxRebilledPerKill, ...report } = await killOnTemporal({ command, kills: KILLS, seed: SEED })
      expect(report).toMatchObject({ kills: KILLS, lost: 0, doubled: 0, exportedTwice: 0 })
      // A kill may interrupt one request of each window loop.
      expect(maxRebilledPerKill).toBeLessThanOrEqual(CONCURRENT_WINDOWS)
    },
  )
})
