// Progress as text.
import { finishingText, waitReason } from '../../../workflows/progress.ts'
import type { Plan } from '../../core/planning/planner.ts'
import { formatDuration, MINUTE } from '../../core/time.ts'
import { clockTime, count, counted } from '../../core/words.ts'
import type { SyncAhead } from '../../run/temporal/client/follow.ts'
import type { EventCounts } from '../../run/watch-events.ts'
import { plain, type Style } from '../terminal/style.ts'
import { type Planning, type Progress, rateOf, timeToGo, type Waiting } from './progress.ts'

/** Describes a plan without windows. */
export function nothingToRead({ incomplete, active }: Pick<Plan, 'incomplete' | 'active'>): string {
  if (incomplete) return 'nothing to read now, but not everything is stored: `convohouse status` shows what is missing'
  return active ? 'nothing to read now' : 'nothing to read: everything up to now is stored'
}

/** Returns text such as `waiting until 14:32 UTC (rate limit reached)`. */
export const waitingText = (waiting: Waiting, nowMs: number): string =>
  `waiting until ${clockTime(waiting.untilMs, nowMs)} (${waiting.reason === 'hour' ? 'rate limit reached' : waitReason(waiting)})`

/** Returns text such as `planning: listing the agents, checking what has landed`. */
export const planningText = ({ heldUntilMs }: Planning, nowMs: number): string =>
  heldUntilMs === null
    ? 'planning: listing the agents, checking what has landed'
    : `planning: waiting for leases of an earlier run, until ${clockTime(heldUntilMs, nowMs)} at the latest`

/** Returns text such as `waiting behind sync 1f0c9a2e`. */
export const aheadText = ({ run, paused }: SyncAhead): string =>
  `waiting behind sync ${run}${paused ? ', which is paused (`convohouse resume`)' : ''}`

const rateText = (rate: number | null): string | null => (rate === null ? null : `${count(rate)}/s`)

/** Returns `no answer for 3 min` after a minute without one; null if the sync waits on purpose, or has its last answer. */
export function silenceText({ recent, waiting, finishing, planning }: Progress, nowMs: number): string | null {
  const silentMs = nowMs - (recent.at(-1)?.atMs ?? nowMs)
  const isAsking = !planning && !finishing && !(waiting && waiting.untilMs > nowMs)
  return isAsking && silentMs >= MINUTE ? `no answer for ${formatDuration(silentMs)}` : null
}

/** Returns text such as `12 pages · 1,134 conversations · 412/s · 3 windows left`. */
export function doneText(progress: Progress, nowMs: number): string {
  const rate = silenceText(progress, nowMs) ?? rateText(rateOf(progress, nowMs))
  return [
    counted(progress.pages, 'page'),
    counted(progress.conversations, 'conversation'),
    ...(rate === null ? [] : [rate]),
    `${counted(progress.windowsLeft, 'window')} left`,
  ].join(' · ')
}

/** Returns text such as `1,475 requests left this hour · 48,210 sessions left · about 2 min to go`. */
export function leftText(progress: Progress, nowMs: number): string {
  const { budget } = progress
  if (budget === null) return ''
  const go = timeToGo(progress, nowMs)
  return [
    `${counted(budget.rateLimit.requestsLeft, 'request')} left this hour`,
    budget.quota.known
      ? `${count(budget.quota.sessionsLeft)} of ${counted(budget.quota.allowedSessions, 'session')} left`
      : 'quota not reported yet',
    ...(go === null ? [] : [`about ${formatDuration(go)} to go`]),
  ].join(' · ')
}

/** Returns text such as `12 events received, 3 waiting, 9 applied`. */
export const eventsText = ({ received, waiting, applied }: EventCounts): string =>
  `${counted(received, 'event')} received, ${count(waiting)} waiting, ${count(applied)} applied`

function syncLines(progress: Progress, nowMs: number, style: Style): string[] {
  if (progress.ahead) return [aheadText(progress.ahead)]
  if (progress.planning) return [planningText(progress.planning, nowMs)]
  const waiting = progress.waiting && progress.waiting.untilMs > nowMs ? waitingText(progress.waiting, nowMs) : null
  return [
    doneText(progress, nowMs),
    style('dim', leftText(progress, nowMs)),
    ...(waiting ? [style('yellow', waiting)] : []),
    ...(progress.finishing ? [finishingText(progress.finishing)] : []),
  ].filter(line => line !== '')
}

/** Returns the lines of the live display: progress, reason for waiting, and webhook counts, even if no sync runs. */
export function liveLines(options: {
  name: string
  progress: Progress
  nowMs: number
  syncs?: boolean
  style?: Style
}): string[] {
  const { name, progress, nowMs, syncs = true, style = plain } = options
  const [first = '', ...more] = [
    ...(syncs ? syncLines(progress, nowMs, style) : []),
    ...(progress.events ? [eventsText(progress.events)] : []),
  ]
  return [`${style('cyan', name)}  ${first}`, ...more]
}
