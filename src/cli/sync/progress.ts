// How far a sync is, folded from what the engine tells. Pure: `nowMs` is an argument.

import type { ProgressUpdate } from '../../../workflows/host.ts'
import { type PlanSummary, planSummary } from '../../../workflows/progress.ts'
import type { Failure, Prepared, SyncReport } from '../../../workflows/steps.ts'
import { type Budget, budgetOf } from '../../core/budget.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { Range } from '../../core/estimate.ts'
import type { GovernorState } from '../../core/governor.ts'
import { SECOND } from '../../core/time.ts'
import type { SyncAhead } from '../../run/temporal/client/follow.ts'
import type { EventCounts } from '../../run/watch-events.ts'

export interface Waiting {
  untilMs: number
  reason: 'paused' | 'hour'
  /** Of the failure that paused it, where that is told. */
  code?: ErrorCode
}

/** What comes before a plan: the listing of the agents, and, with a time, the end of leases that are held. */
export interface Planning {
  heldUntilMs: number | null
}

export interface Progress {
  /** Null where nobody has seen it begin. */
  startedMs: number | null
  /** Null behind the plan. */
  planning: Planning | null
  /** The sync that it waits behind; null where it has its turn. */
  ahead: SyncAhead | null
  pages: number
  conversations: number
  sessions: number
  windowsLeft: number
  /** Conversations in all, where every window could be priced. */
  expected: Range | null
  budget: Budget | null
  waiting: Waiting | null
  /** Webhook events; null where none has come. */
  events: EventCounts | null
  /** Failures that have been told. */
  told: readonly string[]
  /** Conversations landed by then, of the last seconds: what the rate is read off. */
  recent: readonly { atMs: number; conversations: number }[]
}

/** The rate is that of so many ms: long enough not to flicker, short enough to show a slow vendor. */
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
  events: null,
  told: [],
  recent: [{ atMs: nowMs, conversations: 0 }],
})

/** Behind a report. The next sync may be over before anything is seen of it but its own report. */
export const overProgress = ({ events }: Progress, nowMs: number): Progress => ({
  ...startProgress(nowMs),
  startedMs: null,
  events,
  recent: [],
})

const failureKey = ({ code, what }: Pick<Failure, 'code' | 'what'>): string => JSON.stringify([code, what])

/** What failed and was not told while it went on: it had failed before anybody looked on, or between two looks. */
export const unreportedFailures = ({ told }: Progress, { failures }: SyncReport): SyncReport['failures'] =>
  failures.filter(failure => !told.includes(failureKey(failure)))

/** What a sync begins with. */
export interface Planned {
  plan: PlanSummary
  governor: GovernorState
}

/** As a run that has planned for itself tells it. */
export const plannedBy = ({ plan, governor }: Prepared): Planned => ({ plan: planSummary(plan), governor })

export function plannedProgress({ plan, governor }: Planned, before: Progress, nowMs: number): Progress {
  return {
    ...startProgress(nowMs),
    events: before.events,
    told: before.told,
    windowsLeft: plan.windows.length,
    expected: plan.windows.length > 0 && plan.unknown === 0 ? plan.total.conversations : null,
    budget: budgetOf(governor, nowMs),
  }
}

export interface PageLanded {
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
  if (news.kind === 'failure') return { ...progress, told: [...progress.told, failureKey(news.failure)] }
  if (news.kind === 'events') {
    const { received, waiting, applied } = news
    return { ...progress, events: { received, waiting, applied } }
  }
  if (news.kind === 'waiting') {
    const { kind: _kind, ...waiting } = news
    return { ...progress, waiting }
  }
  return progress
}

/** Conversations a second, lately; null before there is anything to go by. */
export function rateOf({ recent, conversations }: Progress, nowMs: number): number | null {
  const first = recent[0]
  const seconds = first ? (nowMs - first.atMs) / SECOND : 0
  return first && seconds >= 1 ? (conversations - first.conversations) / seconds : null
}

/** Time to go, ms, where the size is known and something moves; never more exact than the estimate. */
export function timeToGo(progress: Progress, nowMs: number): number | null {
  const { expected, conversations } = progress
  const rate = rateOf(progress, nowMs)
  if (expected === null || rate === null || rate <= 0) return null
  const left = (expected.low + expected.high) / 2 - conversations
  return left > 0 ? (left / rate) * SECOND : null
}

/** What a sync shows while it runs, in one of three ways. */
export interface Display {
  planned(planned: Planned): void
  page(page: PageLanded): void
  /** It waits behind another. */
  waits(ahead: SyncAhead): void
  news(news: ProgressUpdate): void
  /** A word beside: stopping, the next round. */
  note(text: string): void
  report(report: SyncReport): void
  /** Takes away what is only for the moment. */
  end(): void
}
