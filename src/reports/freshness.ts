// Whether syncs, webhook events and targets are as recent as `schedule` and `publish.every` promise, or a given age demands.
import type { Schedule } from '../config/temporal.ts'
import type { WorkspaceConfig } from '../config.ts'
import { lastTimes } from '../core/cron.ts'
import { DAY, formatDuration, HOUR, MAX_CLOCK_SKEW_MS, SECOND } from '../core/time.ts'
import { ago } from '../core/words.ts'
import { spoolWaiting } from '../spool/waiting.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFile } from '../warehouse/sql-files.ts'
import type { TargetStatus } from './publications.ts'
import type { RunsStatus } from './runs.ts'

/** Something that is older than allowed. */
export interface Overdue {
  what: string
  hint: string
}

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

const NOT_SYNCED =
  'Check that `convohouse up`, `worker` or `sync --watch` runs (`convohouse schedule list` names paused schedules), or run `convohouse sync`.'
const CLOCK_WRONG = 'Check the date of this machine (NTP): until it is right, nothing shows whether data is overdue.'
const NOT_APPLIED = '`convohouse up`, `worker` and `sync` apply them; `convohouse status` shows why applying fails.'
const NOT_RECEIVED =
  "Check that `convohouse receive` or `up` runs, and that the webhook address in the vendor's settings leads to it."

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
  const since = (ms: number): string => formatDuration(nowMs - ms)
  const found: Overdue[] = []
  if (syncedMs - nowMs > MAX_CLOCK_SKEW_MS)
    found.push({ what: `the last sync ended ${ago(syncedMs, nowMs)}`, hint: CLOCK_WRONG })
  if (isLate && lastRun?.state !== 'paused') {
    const failed = Date.parse(lastFailure?.endedAt ?? '') > syncedMs ? lastFailure : null
    const why = failed?.error ? `; the last one failed: ${failed.error.replace(/\.$/, '')}` : ''
    found.push({ what: `no sync has succeeded for ${since(syncedMs)}${why}`, hint: failed?.hint ?? NOT_SYNCED })
  }
  const { sinceMs } = await spoolWaiting(home, workspace.id)
  if (sinceMs !== null && nowMs - sinceMs > allowedMs)
    found.push({ what: `webhook events have waited for ${since(sinceMs)} to be applied`, hint: NOT_APPLIED })
  // A quiet workspace sends nothing: events are missing if conversations came since, or no sync shows whether any did.
  const isExpected = workspace.readWebhookSecrets !== null && (isLate || (newestMs ?? 0) > (eventMs ?? firstMs!))
  const isOld = nowMs - (eventMs ?? firstMs!) > (maxAgeMs ?? Math.max(DAY, allowedMs))
  const sinceWhen = eventMs === null ? `since the first sync, ${since(firstMs!)} ago` : `for ${since(eventMs)}`
  if (isOld && isExpected && sinceMs === null)
    found.push({ what: `no webhook event has come ${sinceWhen}`, hint: NOT_RECEIVED })
  return found
}

/** Returns that a target has lacked changes for longer than `publish.every`, or the given age, allows. */
export function overdueTarget(
  { target, asOf, lagSeconds }: TargetStatus,
  everyMs: number,
  maxAgeMs?: number,
): Overdue[] {
  const ageMs = (lagSeconds ?? 0) * SECOND
  if (ageMs <= (maxAgeMs ?? allowedFor(everyMs))) return []
  const hint = `\`sync --watch\`, \`up\` and \`worker\` publish every ${formatDuration(everyMs)}; after a single \`sync\`, run \`convohouse publish\`.`
  const lacks = asOf === null ? 'was never published to; the first sync succeeded' : 'has lacked changes for'
  return [{ what: `${target} ${lacks} ${formatDuration(ageMs)}${asOf === null ? ' ago' : ''}`, hint }]
}
