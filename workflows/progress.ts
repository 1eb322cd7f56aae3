// Progress of a workspace's syncs, for followers: a fold over the updates that the host receives, and the plan without its details.

import type { ErrorCode } from '../src/core/errors.ts'
import type { Plan } from '../src/core/planning/planner.ts'
import { momentText } from '../src/core/time.ts'
import type { Finishing, ProgressUpdate } from './host.ts'
import type { Failure, LeaseOutcome, SyncReport } from './steps.ts'

export interface Progress {
  /** The running sync; null if none. */
  run: string | null
  phase: 'planning' | 'syncing' | 'waiting' | 'finishing' | 'idle'
  /** Null unless the sync is finishing. */
  finishing: Finishing | null
  /** During planning: time until which the sync waits for leases that others hold. */
  heldUntilMs: number | null
  paused: boolean
  windows: number
  windowsLeft: number
  agents: number
  pages: number
  conversations: number
  requests: number
  sessions: number
  /** `code`: the failure that paused the run; omitted if none did. */
  waiting: { untilMs: number; reason: 'paused' | 'hour'; code?: ErrorCode } | null
  failures: Failure[]
  /** Reports of the most recently ended syncs, oldest first. */
  reports: SyncReport[]
}

const KEPT_REPORTS = 10
const KEPT_FAILURES = 5

const NOTHING = {
  heldUntilMs: null,
  finishing: null,
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
  reports: [],
})

/** Returns the progress at the start of a sync. `before`: its report when it was preempted; null if it was not. */
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

export function applyUpdate(progress: Progress, update: ProgressUpdate): Progress {
  switch (update.kind) {
    case 'planning':
      return { ...progress, phase: 'planning', heldUntilMs: update.heldUntilMs }
    case 'planned':
      return {
        ...progress,
        phase: 'syncing',
        windows: update.windows,
        windowsLeft: update.windows,
        agents: update.agents,
      }
    case 'governor': {
      const { requests, sessions } = update.governor.spent
      return { ...progress, phase: 'syncing', waiting: null, windowsLeft: update.windowsLeft, requests, sessions }
    }
    case 'waiting': {
      const { kind: _kind, ...waiting } = update
      return { ...progress, phase: 'waiting', waiting }
    }
    case 'finishing': {
      const { kind: _kind, ...finishing } = update
      return { ...progress, phase: 'finishing', waiting: null, finishing }
    }
    case 'events':
      // Events are counted by the workflow that drains the spool.
      return progress
    case 'failure':
      return { ...progress, failures: [...progress.failures, update.failure].slice(-KEPT_FAILURES) }
  }
}

const PAUSES: Partial<Record<ErrorCode, string>> = {
  API_RATE_LIMITED: 'the vendor asks for a pause',
  API_NOT_JSON: "the vendor's answer cannot be read",
  API_TIMEOUT: 'the vendor does not answer',
  API_UNAVAILABLE: 'the vendor fails, or cannot be reached',
}

/** Returns the reason why a sync waits, as text for people. */
export const waitReason = ({ reason, code }: Pick<NonNullable<Progress['waiting']>, 'reason' | 'code'>): string =>
  reason === 'hour'
    ? "the hour's requests are spent"
    : ((code && PAUSES[code]) ?? 'the vendor gives no usable answer, or asks for a pause')

const FINISHING: Record<Finishing['work'], string> = {
  pages: 'loading landed pages',
  resources: 'requesting other resources',
  marts: 'refreshing the marts',
  models: 'building the models',
  checks: 'running the checks',
}

/** Returns text such as `loading landed pages, 312 left`. */
export const finishingText = ({ work, left, name }: Finishing): string =>
  name ? `building the model ${name}` : `${FINISHING[work]}${left === null ? '' : `, ${left} left`}`

/** Returns the progress as text for Temporal's UI, which renders Markdown. */
export function progressMarkdown(progress: Progress): string {
  const {
    run,
    phase,
    paused,
    waiting,
    windows,
    windowsLeft,
    agents,
    pages,
    conversations,
    sessions,
    failures,
    heldUntilMs,
    finishing,
  } = progress
  const held = heldUntilMs === null ? '' : `: leases are held, until ${momentText(heldUntilMs)}`
  const last = finishing ? `: ${finishingText(finishing)}` : ''
  const until = waiting ? `: ${waitReason(waiting)}, until ${momentText(waiting.untilMs)}` : ''
  return [
    `**${paused ? 'paused' : phase}**${phase === 'planning' ? held : phase === 'finishing' ? last : until}`,
    `run ${run ?? '–'}: ${windows - windowsLeft} of ${windows} windows of ${agents} agents`,
    `${pages} pages, ${conversations} conversations, ${sessions} sessions billed`,
    ...failures.map(({ code, what }) => `- ${code}: ${what}`),
  ].join('\n\n')
}

/** A plan small enough that each run of a workflow can pass it on to the next. A window's name contains its time, kind and bounds. */
export interface PlanSummary extends Omit<Plan, 'windows'> {
  windows: { agentId: string; name: string; resumes: boolean }[]
}

/** Reduces the windows of a plan to agent and name; omits progress, estimate and ids. */
export const planSummary = ({ windows, ...plan }: Plan): PlanSummary => ({
  ...plan,
  windows: windows.map(({ progress: { window }, resumes }) => ({
    agentId: window.agentId,
    name: window.name,
    resumes,
  })),
})

export const agentsOf = ({ windows }: PlanSummary): number => new Set(windows.map(({ agentId }) => agentId)).size
