// Whether syncs, webhook events and targets are as recent as `schedule` and `publish.every` promise, or a given age demands.
import type { Schedule } from '../config/temporal.ts'
import type { WorkspaceConfig } from '../config.ts'
import { lastTimes } from '../core/cron.ts'
import { type Overdue, overdue } from '../core/overdue.ts'
import { DAY, HOUR, MAX_CLOCK_SKEW_MS, SECOND } from '../core/time.ts'
import { spoolWaiting } from '../spool/waiting.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFile } from '../warehouse/sql-files.ts'
import type { TargetStatus } from './publications.ts'
import type { RunsStatus } from './runs.ts'

/** One round may be missed, and each takes some time. */
const allowedFor = (everyMs: number): number => 2 * everyMs + HOUR

/** Returns the age that the schedule allows. `usualMs`: time between recurring syncs, for a workspace without a schedule. */
function allowedAge(schedule: Schedule | null, usualMs: number | null, nowMs: number): number {
  if (schedule === null) return allowedFor(Math.min(usualMs ?? DAY, DAY))
  if ('everyMs' in schedule) return allowedFor(schedule.everyMs) + schedule.jitterMs
  const [, earlierMs = nowMs - 2 * DAY] = lastTimes(schedule.cron, nowMs, 2)
  return nowMs - earlierMs + HOUR + schedule.jitterMs
}

/** Facts about a workspace that was ever synced, by their names in sql/reports/freshness.sql; ms since the epoch. */
type SyncTimes = { workspaceId: string } & Record<
  `${'first' | 'success' | 'usual' | 'newest' | 'event'}Ms`,
  number | null
>

export const syncTimes = (rows: Rows): Promise<SyncTimes[]> => rows(sqlFile('reports/freshness'))

interface Question {
  times: readonly SyncTimes[]
  runs: RunsStatus
  home: string
  nowMs: number
  /** `--max-age`; undefined to judge by the schedules. */
  maxAgeMs?: number | undefined
}

/** Returns what is overdue of a workspace; nothing of one that was never synced. A paused sync is not overdue. */
export async function overdueOf(workspace: WorkspaceConfig, question: Question): Promise<Overdue[]> {
  const { times, home, nowMs, maxAgeMs } = question
  const known = times.find(({ workspaceId }) => workspaceId === workspace.id)
  if (known === undefined) return []
  const { firstMs, successMs, usualMs, newestMs, eventMs } = known
  const { lastRun, lastFailure } = question.runs
  const allowedMs = maxAgeMs ?? allowedAge(workspace.schedule, usualMs, nowMs)
  // A long first sync is as recent as its last sign of life.
  const aliveMs = lastRun?.state === 'running' ? Date.parse(lastRun.seenAt ?? lastRun.startedAt) : 0
  const syncedMs = Math.max(aliveMs, successMs ?? firstMs!)
  const isLate = nowMs - syncedMs > allowedMs
  const found: Overdue[] = []
  if (syncedMs - nowMs > MAX_CLOCK_SKEW_MS) found.push(overdue('clock-wrong', syncedMs, nowMs))
  if (isLate && lastRun?.state !== 'paused') {
    const failed = Date.parse(lastFailure?.endedAt ?? '') > syncedMs ? lastFailure : null
    const why = failed?.error ? `; the last one failed: ${failed.error.replace(/\.$/, '')}` : ''
    const late = overdue('no-sync', syncedMs, nowMs)
    found.push({ ...late, what: `${late.what}${why}`, hint: failed?.hint ?? late.hint })
  }
  const { sinceMs } = await spoolWaiting(home, workspace.id)
  if (sinceMs !== null && nowMs - sinceMs > allowedMs) found.push(overdue('events-waiting', sinceMs, nowMs))
  // A quiet workspace sends nothing: events are missing if conversations came since, or no sync shows whether any did.
  const isExpected = workspace.readWebhookSecrets !== null && (isLate || (newestMs ?? 0) > (eventMs ?? firstMs!))
  const isOld = nowMs - (eventMs ?? firstMs!) > (maxAgeMs ?? Math.max(DAY, allowedMs))
  if (isOld && isExpected && sinceMs === null)
    found.push(overdue(eventMs === null ? 'no-first-event' : 'no-events', eventMs ?? firstMs!, nowMs))
  return found
}

/** Returns that a target has lacked changes for longer than `publish.every`, or the given age, allows. */
export function overdueTarget(
  { target, asOf, lagSeconds }: TargetStatus,
  { everyMs, nowMs, maxAgeMs }: { everyMs: number; nowMs: number; maxAgeMs?: number | undefined },
): Overdue[] {
  const ageMs = (lagSeconds ?? 0) * SECOND
  if (ageMs <= (maxAgeMs ?? allowedFor(everyMs))) return []
  const late = overdue(asOf === null ? 'target-empty' : 'target-behind', nowMs - ageMs, nowMs)
  return [{ ...late, what: `${target} ${late.what}` }]
}
