// The progress of a sync, reduced from the workflow's updates. Pure: `nowMs` is an argument.

import type { Finishing, ProgressUpdate } from '../../../workflows/host.ts'
import { type PlanSummary, planSummary } from '../../../workflows/progress.ts'
import type { Failure, Prepared, SyncReport } from '../../../workflows/steps.ts'
import type { Clock } from '../../clock.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { type Budget, budgetOf } from '../../core/governor/budget.ts'
import type { GovernorState } from '../../core/governor/governor.ts'
import type { Range } from '../../core/planning/estimate.ts'
import { SECOND } from '../../core/time.ts'
import type { SyncAhead } from '../../run/temporal/client/follow.ts'
import type { EventCounts } from '../../run/watch-events.ts'

export interface Waiting {
  untilMs: number
  reason: 'paused' | 'hour'
  /** Code of the failure that paused the sync, if known. */
  code?: ErrorCode
}

/** The phase before a plan: listing the agents and, with a time, waiting for leases of an earlier run. */
export interface Planning {
  heldUntilMs: number | null
}

export interface Progress {
  /** Time when the sync started; null if that was not seen. */
  startedMs: number | null
  /** Null once there is a plan. */
  planning: Planning | null
  /** The running sync that this one waits for; null if none. */
  ahead: SyncAhead | null
  pages: number
  conversations: number
  sessions: number
  windowsLeft: number
  /** Estimated conversations in total; null if a window has no estimate. */
  expected: Range | null
  budget: Budget | null
  waiting: Waiting | null
  /** What the sync does after its last answer; null before that. */
  finishing: Finishing | null
  /** Counts of webhook events; null before the first event. */
  events: EventCounts | null
  /** Keys of failures that have been shown. */
  reportedFailures: readonly string[]
  /** Counts of landed conversations within the last seconds, from which the rate is computed. */
  recent: readonly { atMs: number; conversations: number }[]
}

/** Averaging time of the rate: long enough not to flicker, short enough to show a slow vendor. */
const RATE_OVER_MS = 15 * SECOND

export const startProgress = (nowMs: number): Progress => ({
  startedMs: nowMs,
  planning: null,
  ahead: null,
  pages: 0,
  conversations: 0,
  sessions: 0,
  windowsLeft: 0,
  expected: null,
  budget: null,
  waiting: null,
  finishing: null,
  events: null,
  reportedFailures: [],
  recent: [{ atMs: nowMs, conversations: 0 }],
})

/** Returns the state after a report. `startedMs` is null, because the next sync may be seen only when it reports. */
export const overProgress = ({ events }: Progress, nowMs: number): Progress => ({
  ...startProgress(nowMs),
  startedMs: null,
  events,
  recent: [],
})

const failureKey = ({ code, what }: Pick<Failure, 'code' | 'what'>): string => JSON.stringify([code, what])

/** Returns failures of the report that have not been shown, such as those before the display attached or between two polls. */
export const unreportedFailures = ({ reportedFailures }: Progress, { failures }: SyncReport): SyncReport['failures'] =>
  failures.filter(failure => !reportedFailures.includes(failureKey(failure)))

/** Plan and governor state at the start of a sync. */
interface Planned {
  plan: PlanSummary
  governor: GovernorState
}

/** Returns plan and governor state of an embedded run. */
export const plannedBy = ({ plan, governor }: Prepared): Planned => ({ plan: planSummary(plan), governor })

export function plannedProgress({ plan, governor }: Planned, before: Progress, nowMs: number): Progress {
  return {
    ...startProgress(nowMs),
    events: before.events,
    reportedFailures: before.reportedFailures,
    windowsLeft: plan.windows.length,
    expected: plan.windows.length > 0 && plan.unknown === 0 ? plan.total.conversations : null,
    budget: budgetOf(governor, nowMs),
  }
}

interface PageLanded {
  agentId: string
  records: number
  billed: number | null
}

export function withPage(progress: Progress, page: PageLanded, nowMs: number): Progress {
  const conversations = progress.conversations + page.records
  const recent = [...progress.recent.filter(({ atMs }) => atMs > nowMs - RATE_OVER_MS), { atMs: nowMs, conversations }]
  return {
    ...progress,
    pages: progress.pages + 1,
    conversations,
    sessions: progress.sessions + (page.billed ?? page.records),
    waiting: null,
    recent,
  }
}

export function withNews(progress: Progress, news: ProgressUpdate, nowMs: number): Progress {
  if (news.kind === 'planning') {
    const { heldUntilMs } = news
    return { ...startProgress(nowMs), events: progress.events, planning: { heldUntilMs } }
  }
  if (news.kind === 'governor')
    return { ...progress, windowsLeft: news.windowsLeft, budget: budgetOf(news.governor, nowMs) }
  if (news.kind === 'failure')
    return { ...progress, reportedFailures: [...progress.reportedFailures, failureKey(news.failure)] }
  if (news.kind === 'events') {
    const { received, waiting, applied } = news
    return { ...progress, events: { received, waiting, applied } }
  }
  if (news.kind === 'finishing') {
    const { kind: _kind, ...finishing } = news
    return { ...progress, waiting: null, finishing }
  }
  if (news.kind === 'waiting') {
    const { kind: _kind, ...waiting } = news
    return { ...progress, waiting }
  }
  return progress
}

/** Returns conversations per second over the last seconds; null in the first second. */
export function rateOf({ recent, conversations }: Progress, nowMs: number): number | null {
  const first = recent[0]
  const seconds = first ? (nowMs - first.atMs) / SECOND : 0
  return first && seconds >= 1 ? (conversations - first.conversations) / seconds : null
}

/** Returns the estimated remaining time, ms; null if the total is unknown or no conversations are landing. */
export function timeToGo(progress: Progress, nowMs: number): number | null {
  const { expected, conversations } = progress
  const rate = rateOf(progress, nowMs)
  if (expected === null || rate === null || rate <= 0) return null
  const left = (expected.low + expected.high) / 2 - conversations
  return left > 0 ? (left / rate) * SECOND : null
}

export interface DisplayOptions {
  several: boolean
  clock?: Pick<Clock, 'now'> | undefined
}

/** Shows a running sync: live, as plain lines, or as JSON. */
export interface Display {
  planned(planned: Planned): void
  page(page: PageLanded): void
  /** Shows that the sync waits for another one. */
  waits(ahead: SyncAhead): void
  news(news: ProgressUpdate): void
  /** Shows a note, such as the time of the next round. */
  note(text: string): void
  report(report: SyncReport): void
  /** Removes the redrawn lines. */
  end(): void
}
