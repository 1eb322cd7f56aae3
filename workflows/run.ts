// The state of one sync: the queue of its windows, the state that its concurrent loops share, and the checkpoint that it hands over.
import type { ErrorCode } from '../src/core/errors.ts'
import { nextWindow } from '../src/core/governor/fair-share.ts'
import type { GovernorState } from '../src/core/governor/governor.ts'
import type { WindowProgress } from '../src/core/planning/windows.ts'
import { type Deferred, newDeferred } from './deferred.ts'
import type { Host } from './host.ts'
import { type Loader, startLoader } from './loader.ts'
import type { Failure, Steps, SyncReport, SyncRequest } from './steps.ts'

export interface Run {
  steps: Steps
  host: Host
  request: SyncRequest
  governor: GovernorState
  queue: WindowQueue
  loader: Loader
  report: SyncReport
  /** Number of failures since the last answer. */
  failing: number
  /** The last of the failures that `failing` counts; only meaningful while that is above 0. */
  unanswered: Failure | null
  /** Code of the failure that last paused the run; null if there was none since the run began in this host. */
  pausedBy: ErrorCode | null
  stopped: boolean
  handingOver: boolean
  /** Number of 429 since the last answer. */
  limited: number
  /** Agents whose last request failed, oldest failure first (`failure-policy.ts`). */
  suspects: readonly Suspect[]
  /** Up to two agents whose exports were answered in this run. */
  answered: readonly string[]
  /** Resolves when a lease ends, so that loops that wait for quota or for a window try again. */
  changed: Deferred
}

export interface Suspect {
  agentId: string
  failure: Failure
  /** Number of consecutive failures with the same code. */
  failures: number
  /** True if another agent's export was answered after the first of these failures, so that they affect only this agent. */
  isAlone: boolean
}

/** Windows in the planner's order. A window that a loop has worked on returns to the end of its kind. */
interface WindowQueue {
  waiting: WindowProgress[]
  /** Windows that loops are working on. */
  inProgress: number
}

/**
 * Takes the next window, which is then in progress; null if none can be taken. Windows of suspects come last, and those of
 * refused agents only once no other window is in progress: an answer to one may show whether the refusal affects only the agent.
 */
export function takeWindow({ queue, governor, host, suspects }: Run): WindowProgress | null {
  const suspectOf = ({ window }: WindowProgress) => suspects.find(({ agentId }) => agentId === window.agentId)
  const isTakable = (progress: WindowProgress) =>
    queue.inProgress === 0 || suspectOf(progress)?.failure.kind !== 'access'
  const unsuspected = queue.waiting.filter(progress => suspectOf(progress) === undefined)
  const takable = unsuspected.length > 0 ? unsuspected : queue.waiting.filter(isTakable)
  const next = nextWindow(governor, takable, host.now())
  if (next === undefined) return null
  queue.waiting.splice(queue.waiting.indexOf(next), 1)
  queue.inProgress += 1
  return next
}

/** Removes the agent's windows from the queue and counts them as left. */
export function leaveAgent({ queue, report }: Run, agentId: string): void {
  const kept = queue.waiting.filter(({ window }) => window.agentId !== agentId)
  report.windowsLeft += queue.waiting.length - kept.length
  queue.waiting = kept
}

/** Puts a window back behind the last one of its kind, so that all agents get a turn. */
export function requeueWindow(queue: WindowQueue, progress: WindowProgress): void {
  const last = queue.waiting.findLastIndex(other => other.window.kind === progress.window.kind)
  queue.waiting.splice(last < 0 ? firstPlaceOf(queue, progress) : last + 1, 0, progress)
}

/** Returns the position for a window if no other of its kind is waiting: before history, which waits for everything else. */
function firstPlaceOf({ waiting }: WindowQueue, progress: WindowProgress): number {
  const isHistory = (kind: string) => kind === 'tail' || kind === 'full'
  if (isHistory(progress.window.kind)) return waiting.length
  const first = waiting.findIndex(other => isHistory(other.window.kind))
  return first < 0 ? waiting.length : first
}

/** The state that one host hands over to the next, so that neither quota nor windows start over. Plain JSON. */
export interface Checkpoint extends Pick<Run, 'governor' | 'report' | 'failing' | 'limited' | 'suspects' | 'answered'> {
  waiting: WindowProgress[]
  pagesWaiting: number
  hasRows?: boolean
}

export function checkpointOf(run: Run): Checkpoint {
  const { governor, queue, report, failing, limited, suspects, answered } = run
  return { governor, waiting: queue.waiting, pagesWaiting: 0, report, failing, limited, suspects, answered }
}

/** Returns a run that continues from a checkpoint. */
export function newRun(steps: Steps, host: Host, request: SyncRequest, checkpoint: Checkpoint): Run {
  const { waiting, pagesWaiting, hasRows = false, report, ...state } = checkpoint
  return {
    steps,
    host,
    request,
    ...state,
    queue: { waiting: [...waiting], inProgress: 0 },
    loader: startLoader(steps, {
      workspaceId: request.workspaceId,
      waitingAtStart: pagesWaiting,
      hasRows,
      startedAtMs: host.now(),
    }),
    report: { ...report, agentsGone: [...report.agentsGone], failures: [...report.failures] },
    unanswered: null,
    pausedBy: null,
    stopped: false,
    handingOver: false,
    changed: newDeferred(),
  }
}

/** The state of a preempted sync, from which its next plan continues. Plain JSON. */
export interface PreemptedSync extends Pick<GovernorState, 'spent' | 'lost' | 'breaches'> {
  report: SyncReport
  /** The run's limits, including allowances granted while it ran. */
  limits: Pick<GovernorState['options'], 'allowedPacks' | 'maxRequests' | 'maxSessions'>
}

export function preemptedSync(report: SyncReport, { spent, lost, breaches, options }: GovernorState): PreemptedSync {
  const { allowedPacks, maxRequests, maxSessions } = options
  return { report, spent, lost, breaches, limits: { allowedPacks, maxRequests, maxSessions } }
}

/** Adds the preempted sync's results, spending and allowances to a new plan. Drops its failures, since failed requests are repeated. */
export function resumePreempted(planned: Checkpoint, { report, limits, ...spent }: PreemptedSync): Checkpoint {
  const { pages, conversations, windowsDone, agentsGone } = report
  return {
    ...planned,
    governor: { ...planned.governor, ...spent, options: { ...planned.governor.options, ...limits } },
    report: { ...planned.report, pages, conversations, windowsDone, agentsGone },
  }
}

/** Wakes the loops that wait for a change. */
export function notifyChange(run: Run): void {
  run.changed.resolve()
  run.changed = newDeferred()
}

/** Stops the run, so that no more leases are requested. If called repeatedly, the first outcome is reported. */
export function stop(run: Run, outcome: SyncReport['outcome']): void {
  if (!run.stopped) run.report.outcome = outcome
  run.stopped = true
  notifyChange(run)
}

/** Ends the run in this host; another host continues it from a checkpoint. */
export function handOver(run: Run): void {
  run.handingOver = true
  run.stopped = true
  notifyChange(run)
}

/** Adds a failure to the report and publishes it immediately. */
export function fail(run: Run, failure: Failure, agentId: string | null): void {
  run.report.failures.push({ ...failure, agentId })
  run.host.notify({ kind: 'failure', failure, agentId })
}
