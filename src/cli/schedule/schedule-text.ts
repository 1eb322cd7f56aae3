// Schedules for people: a line a workspace.
import { durationText, formatDuration } from '../../core/time.ts'
import type { LastRun } from '../../run/temporal/client/last-run.ts'
import type { ScheduleState } from '../../run/temporal/client/schedules.ts'
import { type GridOptions, grid } from '../terminal/grid.ts'
import { count, utc } from '../terminal/words.ts'

/** A schedule, and what became of its last run; null where there was none. */
export type ScheduleStatus = ScheduleState & { lastRun: LastRun | null }

const COLUMNS = [
  { name: 'workspace' },
  { name: 'schedule' },
  { name: 'state' },
  { name: 'next (UTC)' },
  { name: 'last run (UTC)' },
  { name: 'outcome' },
  { name: 'took' },
  { name: 'ticks', right: true },
]

/** `every 15m`, as it is configured, or the cron expression. */
export const whenText = (when: { cron: string } | { everyMs: number }): string =>
  'cron' in when ? when.cron : `every ${durationText(when.everyMs)}`

const timeText = (time: Date | null): string => (time ? utc(time.getTime()) : 'never')

function stateText({ paused, note }: NonNullable<ScheduleState['schedule']>): string {
  if (!paused) return 'active'
  return note ? `paused (${note})` : 'paused'
}

function outcomeText({ outcome, failure }: LastRun): string {
  if (outcome === 'unanswered') return 'no worker has answered'
  return failure ? `${outcome} (${failure.code ?? failure.what})` : outcome
}

/** The server forgets what has ended when its retention is over. */
function runCells({ lastRun, schedule }: ScheduleStatus, nowMs: number): string[] {
  const tick = schedule?.lastTick
  if (lastRun === null) return tick ? [timeText(tick.takenAt), 'not kept any more', ''] : ['never', '', '']
  const { startedAt, endedAt } = lastRun
  const tookMs = (endedAt?.getTime() ?? nowMs) - startedAt.getTime()
  return [timeText(startedAt), outcomeText(lastRun), formatDuration(tookMs)]
}

function row(status: ScheduleStatus, nowMs: number): string[] {
  const { workspaceId, schedule } = status
  const run = runCells(status, nowMs)
  if (schedule === null) return [workspaceId, '', 'no schedule', '', ...run, '']
  const { when, paused, next, ticks } = schedule
  const nextText = paused ? '' : timeText(next)
  return [workspaceId, when.map(whenText).join(', '), stateText(schedule), nextText, ...run, count(ticks)]
}

/** Lines of a table. */
export const scheduleLines = (all: readonly ScheduleStatus[], nowMs: number, options: GridOptions = {}): string[] =>
  grid(
    COLUMNS,
    all.map(status => row(status, nowMs)),
    options,
  )
