// Follows a sync that runs on Temporal by querying its workflow. The sync does not depend on being followed.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common'
import type { PlanSummary, Progress } from '../../../../workflows/progress.ts'
import type { SyncReport } from '../../../../workflows/steps.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import type { GovernorState } from '../../../core/governor/governor.ts'
import { SECOND } from '../../../core/time.ts'
import { errorOf, failureIn } from '../failure.ts'
import { failedForWantOfWorker, type WorkerCall } from './await-worker.ts'
import { abortable } from './connection.ts'
import { type OwnerHandle, ownerId } from './owner.ts'

export interface SyncView {
  progress: Progress
  plan: PlanSummary | null
  budget: GovernorState | null
}

/** The sync that runs while another one is queued behind it. */
export type SyncAhead = Progress & { run: string }

const POLL_EVERY_MS = 500
/** Number of queries to a closed workflow for a run's report that its result lacks, since the worker may be slow. */
const LAST_POLLS = 3
/**
 * Shorter than the 30 s for which a server holds a query. A starting worker would answer a held query before it has
 * processed the newest events of the workflow's history, and so from an outdated state.
 */
const QUERY_TIMEOUT_MS = 3 * SECOND

const stopped = (how: string): ConvohouseError =>
  new ConvohouseError('INTERRUPTED', { what: `The sync was ${how} on Temporal; what landed is kept.` })

/** Returns the report of a closed workflow. @throws the error that ended it without a report */
export async function reportOf(handle: OwnerHandle): Promise<SyncReport | null> {
  try {
    return await handle.result()
  } catch (error) {
    const cause = error instanceof WorkflowFailedError ? error.cause : undefined
    if (cause instanceof CancelledFailure) throw stopped('cancelled')
    if (cause instanceof TerminatedFailure) throw stopped('terminated')
    const [, report] = cause instanceof ApplicationFailure ? (cause.details ?? []) : []
    if (report) return report as SyncReport
    const failure = failureIn(cause)
    throw failure ? errorOf(failure) : error
  }
}

/** Queries a workspace's owner workflow. The query names no run id, so it reaches the current run even after a continue-as-new. */
const asked = <T>(client: Client, workspaceId: string, query: 'progress' | 'plan' | 'budget'): Promise<T> =>
  client.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () =>
    client.workflow.getHandle(ownerId(workspaceId)).query<T>(query),
  )

export const progressOf = (client: Client, workspaceId: string): Promise<Progress> =>
  asked<Progress>(client, workspaceId, 'progress')

/** Queries the plan only once: it does not change and may be large. */
async function readView(client: Client, workspaceId: string, plan: PlanSummary | null): Promise<SyncView> {
  return {
    progress: await progressOf(client, workspaceId),
    plan: plan ?? (await asked<PlanSummary | null>(client, workspaceId, 'plan')),
    budget: await asked<GovernorState | null>(client, workspaceId, 'budget'),
  }
}

/** @throws the error that ended a queued sync before its first request */
function expectBegun(report: SyncReport): SyncReport {
  const [failure] = report.failures
  if (report.outcome !== 'failed' || report.requests > 0 || failure === undefined) return report
  throw errorOf(failure)
}

interface FollowOptions {
  client: Client
  workspaceId: string
  asked: { run: string; handle: OwnerHandle }
  signal: AbortSignal
  onProgress(seen: SyncView): void
  /** Called with the sync that this one is queued behind. */
  waits?(ahead: SyncAhead): void
  answered?: WorkerCall
}

/** Returns the sync's current state; null if no worker answered or `signal` aborted. */
async function readOnce(following: FollowOptions, plan: PlanSummary | null): Promise<SyncView | null> {
  const { client, workspaceId, signal, answered = work => work() } = following
  try {
    return await answered(() => abortable(client, signal, () => readView(client, workspaceId, plan)))
  } catch (error) {
    if (signal.aborted || failedForWantOfWorker(error)) return null
    throw error
  }
}

/** True if a sync other than `run` is in progress. */
const isAhead = (progress: Progress, run: string): progress is SyncAhead =>
  progress.run !== null && progress.run !== run && progress.phase !== 'idle'

const isReportOf = async (result: Promise<SyncReport | null>, run: string): Promise<boolean> =>
  (await result.catch(() => null))?.run === run

/**
 * Reports a run's progress until the run ends. Waits while no worker answers.
 * @returns the run's report; null if `signal` aborted first
 * @throws the error that ended the workflow
 */
export async function follow(following: FollowOptions): Promise<SyncReport | null> {
  const { client, signal, onProgress } = following
  const { run, handle } = following.asked
  let plan: PlanSummary | null = null
  let over = false
  let lastPolls = 0
  const result = abortable(client, signal, () => reportOf(handle)).finally(() => {
    over = true
  })
  result.catch(() => {})
  while (!signal.aborted) {
    const last = over
    const seen = await readOnce(following, plan)
    if (seen?.progress.run === run) {
      plan = seen.plan
      onProgress(seen)
    }
    const report = seen?.progress.reports.find(ended => ended.run === run)
    if (report) return expectBegun(report)
    if (seen && isAhead(seen.progress, run)) following.waits?.(seen.progress)
    if (last) lastPolls += 1
    const enough = seen !== null || lastPolls === LAST_POLLS
    if (last && !signal.aborted && (enough || (await isReportOf(result, run)))) return result
    await sleep(POLL_EVERY_MS, undefined, { signal }).catch(() => {})
  }
  return null
}
