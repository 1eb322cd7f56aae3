// `convohouse schedule backfill`: has what is missing of a stretch of time read, by the owner that ticks ask, too.
import { systemClock } from '../../clock.ts'
import { readConfig } from '../../config.ts'
import { connectClient } from '../../run/temporal/client/connection.ts'
import { expectSchedule } from '../../run/temporal/client/schedules.ts'
import { checkTogether, type SyncFlags } from '../flags/sync-flags.ts'
import { invalidFlag } from '../flags/values.ts'
import { chooseWorkspaces } from '../flags/workspaces.ts'
import type { ScheduleFlags } from '../schedule.ts'
import { syncOnTemporal } from '../sync/on-temporal.ts'

export interface BackfillFlags extends ScheduleFlags {
  /** ms since the epoch. */
  since?: number
  until?: number
  maxSessions?: number
  yes?: boolean
}

/** @throws FLAG_INVALID for a range that is none */
export function checkRange({ since, until }: BackfillFlags, nowMs: number): void {
  if (since === undefined)
    throw invalidFlag('A backfill needs --since.', 'Say from when on: --since 2026-01-01, or an age such as 90d.')
  checkTogether({ since, wait: true, ...(until !== undefined && { until }) }, nowMs)
  if (until !== undefined && until > nowMs)
    throw invalidFlag('--until lies in the future.', 'Leave it out: what is yet to come is for the ticks.')
}

/** The process's exit code. @throws FLAG_INVALID, SCHEDULE_MISSING, TEMPORAL_UNREACHABLE */
export async function runBackfill(flags: BackfillFlags): Promise<number> {
  checkRange(flags, systemClock.now())
  const { workspace, config: path, ...given } = flags
  const config = readConfig(path === undefined ? {} : { path })
  const workspaces = chooseWorkspaces(config, workspace)
  const client = await connectClient()
  try {
    for (const { id } of workspaces) await expectSchedule(client, id)
  } finally {
    await client.connection.close()
  }
  const sync: SyncFlags = { ...given, wait: true }
  return syncOnTemporal({ flags: sync, config, workspaces, named: null, origin: 'backfill' })
}
