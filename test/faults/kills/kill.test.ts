import { expect, it } from 'vitest'
import { CONCURRENT_WINDOWS } from '../../../workflows/window-loop.ts'
import { rounds } from '../../tier.ts'
import { killSyncs } from './kills.ts'

const KILLS = rounds('SYNC_KILLS', { usual: 5, deep: 500 })

it('a sync that is killed at random points loses nothing, duplicates nothing, and repeats only requests in flight', {
  timeout: 600_000 + KILLS * 10_000,
}, async () => {
  const { maxRebilledPerKill, phases, ...report } = await killSyncs({ kills: KILLS, seed: 7 })
  expect(report).toMatchObject({ kills: KILLS, lost: 0, doubled: 0, exportedTwice: 0 })
  // A kill may interrupt one request of each window loop.
  expect(maxRebilledPerKill).toBeLessThanOrEqual(CONCURRENT_WINDOWS)
  expect(phases.opening + phases.planning).toBeGreaterThan(0)
  expect(phases.fetching + phases.loading).toBeGreaterThan(0)
})
