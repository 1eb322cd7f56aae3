// Upkeep of a workspace's files at the end of a sync: the lease log's files are joined, and once a day the landing is compacted and expires.
import { DAY, SECOND } from '../core/time.ts'
import type { Landing } from '../landing/landing.ts'
import type { LeaseLog } from '../landing/lease-log.ts'
import type { Writer } from '../warehouse/connection.ts'
import { expire, type Retention } from './expiry.ts'

/** A sync ends by then, also where years of pages are compacted for the first time: the next syncs continue. */
const MOST_WORK_MS = 20 * SECOND

/** Leaves the landing alone within a day of the first sync and of the last complete upkeep. @throws HOME_UNUSABLE, LANDING_CORRUPT */
export async function upkeep(options: {
  landing: Landing
  leaseLog: Pick<LeaseLog, 'merge'>
  writer: Writer
  home: string
  workspaceId: string
  retention: Retention
  now: () => number
  signal: AbortSignal
}): Promise<void> {
  const { landing, now, signal } = options
  await options.leaseLog.merge(now())
  const lastMs = await landing.lastUpkeepMs()
  // A first sync leaves its large pages as they are: there is nothing to do for a day.
  if (lastMs === null) return landing.noteUpkeep(now())
  // A time in the future: the clock has been set back.
  if (lastMs <= now() && now() - lastMs < DAY) return
  const untilMs = performance.now() + MOST_WORK_MS
  // Pages of the current month are the many small ones.
  const folders = (await landing.folders()).sort((a, b) => (a.month < b.month ? 1 : -1))
  for (const { folder } of folders) {
    if (signal.aborted || performance.now() > untilMs) return
    await landing.compact([folder], now())
  }
  await expire(options, { dryRun: false })
  await landing.noteUpkeep(now())
}
