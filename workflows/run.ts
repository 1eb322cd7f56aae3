// A sync that goes on: what its lanes share, what it hands over, and what it comes to.
import type { ErrorCode } from '../src/core/errors.ts'
import type { GovernorState } from '../src/core/governor.ts'
import { sessionsLeft } from '../src/core/quota.ts'
import type { Reserve } from '../src/core/run-record.ts'
import { pageSessions, sessionsFor } from '../src/core/session-budget.ts'
import type { WindowProgress } from '../src/core/windows.ts'
import { type Deferred, newDeferred } from './deferred.ts'
import type { Host } from './host.ts'
import { type Loader, startLoader } from './loader.ts'
import type { Restart, Restarts } from './restarts.ts'
import type { Failure, Steps, SyncReport, SyncRequest } from './steps.ts'
import { isUrgent, newWindowQueue, type WindowQueue } from './turns.ts'

/** What a host hands to the next, so that neither quota nor windows begin anew. Plain JSON. */
export interface Checkpoint {
  governor: GovernorState
  waiting: WindowProgress[]
  pagesWaiting: number
  hasRows?: boolean
  report: SyncReport
  failing: number
  restarts: [window: string, restart: Restart][]
}

/** What a sync that was preempted has come to: its next plan goes on from there. Plain JSON. */
export interface PreemptedSync extends Pick<GovernorState, 'spent' | 'lost' | 'breaches'> {
  report: SyncReport
  /** As they were raised meanwhile. */
  limits: Pick<GovernorState['options'], 'allowedPacks' | 'maxRequests' | 'maxSessions'>
}

export function preemptedSync(report: SyncReport, { spent, lost, breaches, options }: GovernorState): PreemptedSync {
  const { allowedPacks, maxRequests, maxSessions } = options
  return { report, spent, lost, breaches, limits: { allowedPacks, maxRequests, maxSessions } }
}

/** The next leg of a sync: newly planned, with what it has brought, spent and was allowed. What failed is tried again, and told where it fails again. */
export function resumePreempted(begun: Checkpoint, { report, limits, ...spent }: PreemptedSync): Checkpoint {
  const { pages, conversations, windowsDone, agentsGone } = report
  return {
    ...begun,
    governor: { ...begun.governor, ...spent, options: { ...begun.governor.options, ...limits } },
    report: { ...begun.report, pages, conversations, windowsDone, agentsGone },
  }
}

export interface Run {
  steps: Steps
  host: Host
  request: SyncRequest
  governor: GovernorState
  turns: WindowQueue
  loader: Loader
  report: SyncReport
  /** Failures in a row without an answer between them. */
  failing: number
  /** The last of them; null where an answer came since. */
  unanswered: Failure | null
  /** Of the failure that last paused the run; null where another host knows. */
  pausedBy: ErrorCode | null
  stopped: boolean
  handsOver: boolean
  /** How far each window was when it was last begun anew. */
  restarts: Restarts
  /** Resolves when a lease ends: what others wait for may be there. */
  changed: Deferred
}

/** Wakes the lanes that wait for one. */
export function notifyChange(run: Run): void {
  run.changed.resolve()
  run.changed = newDeferred()
}

export const emptyReport = (run: string): SyncReport => ({
  run,
  outcome: 'done',
  requests: 0,
  sessions: 0,
  pages: 0,
  conversations: 0,
  windowsDone: 0,
  windowsLeft: 0,
  breaches: 0,
  lostAnswers: 0,
  lostSessions: 0,
  agentsGone: [],
  failures: [],
})

/** Nothing more is asked for; the first reason is the one to tell. */
export function stop(run: Run, outcome: SyncReport['outcome']): void {
  if (!run.stopped) run.report.outcome = outcome
  run.stopped = true
  notifyChange(run)
}

/** Nothing more is asked for here: another goes on. */
export function handOver(run: Run): void {
  run.handsOver = true
  run.stopped = true
  notifyChange(run)
}

/** A failure that is reported, and told at once. */
export function fail(run: Run, failure: Failure, agentId: string | null): void {
  run.report.failures.push({ ...failure, agentId })
  run.host.notify({ kind: 'failure', failure, agentId })
}

/** Sessions that are left, and that history left to new conversations; null where there are none. */
function reserveOf({ governor, host, report }: Run): Reserve | null {
  if (report.outcome !== 'period-spent') return null
  const { options, period } = governor
  const unlimited = { ...options, maxSessions: null }
  const page = pageSessions(governor, 1)
  const fits = (kind: 'head' | 'tail', headReserveShare: number): boolean =>
    sessionsFor({ ...governor, options: { ...unlimited, headReserveShare } }, kind, host.now()) >= page
  const share = options.headReserveShare
  if (!fits('head', share)) return null
  return { sessions: sessionsLeft(period, options.allowedPacks), share, expected: !fits('tail', 0) }
}

/** What the sync came to. */
export function summary(run: Run): SyncReport {
  const { report, governor, turns } = run
  if (report.outcome === 'done' && report.failures.length > 0) report.outcome = 'failed'
  const reserve = reserveOf(run)
  const unanswered = run.failing > 0 && report.failures.length === 0 ? run.unanswered : null
  return {
    ...report,
    requests: governor.spent.requests,
    sessions: governor.spent.sessions,
    windowsLeft: report.windowsLeft + turns.waiting.length,
    breaches: governor.breaches,
    lostAnswers: governor.lost.answers,
    lostSessions: governor.lost.sessions,
    ...(reserve && { reserve }),
    ...(unanswered && { unanswered }),
    ...(turns.waiting.some(isUrgent) && { newLeft: true as const }),
  }
}

/** What the next needs to go on from here. */
export const checkpointOf = ({ governor, turns, report, failing, restarts }: Run): Checkpoint => ({
  governor,
  waiting: turns.waiting,
  pagesWaiting: 0,
  report,
  failing,
  restarts: [...restarts],
})

/** Begins where another left off. */
export function newRun(steps: Steps, host: Host, request: SyncRequest, carried: Checkpoint): Run {
  const { governor, waiting, pagesWaiting, hasRows = false, report, failing, restarts } = carried
  return {
    steps,
    host,
    request,
    governor,
    turns: newWindowQueue(waiting),
    loader: startLoader(steps, {
      workspaceId: request.workspaceId,
      waitingAtStart: pagesWaiting,
      hasRows,
      now: host.now,
    }),
    report: { ...report, agentsGone: [...report.agentsGone], failures: [...report.failures] },
    failing,
    unanswered: null,
    pausedBy: null,
    stopped: false,
    handsOver: false,
    restarts: new Map(restarts),
    changed: newDeferred(),
  }
}
