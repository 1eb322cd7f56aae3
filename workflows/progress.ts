// What is told of a workspace's syncs to whoever looks on: a fold over the news.

import type { ErrorCode } from '../src/core/errors.ts'
import { momentText } from '../src/core/time.ts'
import type { ProgressUpdate } from './host.ts'
import type { Failure, LeaseOutcome, SyncReport } from './steps.ts'

export interface Progress {
  /** Of the sync that goes on; null: none does. */
  run: string | null
  phase: 'planning' | 'syncing' | 'waiting' | 'idle'
  /** While it is planned: until when leases that are held are waited for. Workers of before do not tell. */
  heldUntilMs?: number | null
  paused: boolean
  windows: number
  windowsLeft: number
  agents: number
  pages: number
  conversations: number
  requests: number
  sessions: number
  /** `code`: the failure that paused it; workers of before do not tell. */
  waiting: { untilMs: number; reason: 'paused' | 'hour'; code?: ErrorCode } | null
  failures: Failure[]
  /** Syncs that were asked for and have not begun. */
  queued: number
  /** Of the last syncs that ended, oldest first. */
  reports: SyncReport[]
}

const KEPT_REPORTS = 10
const KEPT_FAILURES = 5

const NOTHING = {
  heldUntilMs: null,
  windows: 0,
  windowsLeft: 0,
  agents: 0,
  pages: 0,
  conversations: 0,
  requests: 0,
  sessions: 0,
  waiting: null,
  failures: [],
}

export const newProgress = (): Progress => ({
  ...NOTHING,
  run: null,
  phase: 'idle',
  paused: false,
  queued: 0,
  reports: [],
})

/** `before`: what the sync had come to when it was preempted. */
export const runStarted = (progress: Progress, run: string, before: SyncReport | null): Progress => ({
  ...progress,
  ...NOTHING,
  ...(before && {
    pages: before.pages,
    conversations: before.conversations,
    requests: before.requests,
    sessions: before.sessions,
  }),
  run,
  phase: 'planning',
})

export const runEnded = (progress: Progress, report: SyncReport): Progress => ({
  ...progress,
  phase: 'idle',
  waiting: null,
  reports: [...progress.reports, report].slice(-KEPT_REPORTS),
})

export const pagesFetched = (progress: Progress, { pages, conversations }: LeaseOutcome): Progress => ({
  ...progress,
  pages: progress.pages + pages,
  conversations: progress.conversations + conversations,
})

/** Takes one piece of news. */
export function applyUpdate(progress: Progress, news: ProgressUpdate): Progress {
  switch (news.kind) {
    case 'planning':
      return { ...progress, phase: 'planning', heldUntilMs: news.heldUntilMs }
    case 'planned':
      return { ...progress, phase: 'syncing', windows: news.windows, windowsLeft: news.windows, agents: news.agents }
    case 'governor': {
      const { requests, sessions } = news.governor.spent
      return { ...progress, phase: 'syncing', waiting: null, windowsLeft: news.windowsLeft, requests, sessions }
    }
    case 'waiting': {
      const { kind: _kind, ...waiting } = news
      return { ...progress, phase: 'waiting', waiting }
    }
    case 'events':
      // The workflow that drains tells of them itself.
      return progress
    case 'failure':
      return { ...progress, failures: [...progress.failures, news.failure].slice(-KEPT_FAILURES) }
  }
}

const PAUSES: Partial<Record<ErrorCode, string>> = {
  API_RATE_LIMITED: 'the vendor asks for a pause',
  API_NOT_JSON: "the vendor's answer cannot be read",
  API_TIMEOUT: 'the vendor does not answer',
  API_UNAVAILABLE: 'the vendor fails, or cannot be reached',
}

/** Why a sync waits, for people. */
export const waitReason = ({ reason, code }: Pick<NonNullable<Progress['waiting']>, 'reason' | 'code'>): string =>
  reason === 'hour'
    ? "the hour's requests are spent"
    : ((code && PAUSES[code]) ?? 'the vendor gives no usable answer, or asks for a pause')

/** For Temporal's UI, in its Markdown. */
export function progressMarkdown(progress: Progress): string {
  const { run, phase, paused, waiting, windows, windowsLeft, agents, pages, conversations, sessions, failures } =
    progress
  const { heldUntilMs = null } = progress
  const held = heldUntilMs === null ? '' : `: leases are held, until ${momentText(heldUntilMs)}`
  const until = waiting ? `: ${waitReason(waiting)}, until ${momentText(waiting.untilMs)}` : ''
  return [
    `**${paused ? 'paused' : phase}**${phase === 'planning' ? held : until}`,
    `run ${run ?? '–'}: ${windows - windowsLeft} of ${windows} windows of ${agents} agents`,
    `${pages} pages, ${conversations} conversations, ${sessions} sessions billed`,
    ...failures.map(({ code, what }) => `- ${code}: ${what}`),
  ].join('\n\n')
}
