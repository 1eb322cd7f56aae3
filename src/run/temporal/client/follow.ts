// Looking on at a sync that Temporal runs, by asking its workflow now and then. Nothing of it depends on anybody looking.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common'
import type { PlanSummary } from '../../../../workflows/plan-summary.ts'
import type { Progress } from '../../../../workflows/progress.ts'
import type { Failure, SyncReport } from '../../../../workflows/steps.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import type { GovernorState } from '../../../core/governor.ts'
import { SECOND } from '../../../core/time.ts'
import { failureIn } from '../failure.ts'
import { abortable } from './abortable.ts'
import { failedForWantOfWorker, type WorkerCall } from './await-worker.ts'
import { type OwnerHandle, ownerId } from './owner.ts'

export interface SyncView {
  progress: Progress
  plan: PlanSummary | null
  budget: GovernorState | null
}

/** A sync that goes on while another waits for its turn. */
export type SyncAhead = Progress & { run: string }

const LOOK_EVERY_MS = 500
/** A workflow that is over is asked so often for the report of a run that its own end does not tell of: a worker may be slow. */
const LAST_LOOKS = 3
/**
 * Not the half minute that a server keeps a question for: a worker that begins would be asked before it is given what has happened since
 * the one before it, and take it at another time than a replay does.
 */
const ANSWERED_WITHIN_MS = 3 * SECOND

const errorOf = ({ code, what, hint }: Failure): ConvohouseError =>
  new ConvohouseError(code, { what, ...(hint && { hint }) })

const stopped = (how: string): ConvohouseError =>
  new ConvohouseError('INTERRUPTED', { what: `The sync was ${how} at Temporal; what landed is kept.` })

/** The report of a workflow that ended. @throws what ended it before it had one */
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

/** Asks a workspace's owner; without a run's id, it is the one that goes on where the workflow has continued as new. */
const asked = <T>(client: Client, workspaceId: string, query: 'progress' | 'plan' | 'budget'): Promise<T> =>
  client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () =>
    client.workflow.getHandle(ownerId(workspaceId)).query<T>(query),
  )

export const progressOf = (client: Client, workspaceId: string): Promise<Progress> =>
  asked<Progress>(client, workspaceId, 'progress')

/** The plan is asked for once: it does not change, and may be long. */
async function readView(client: Client, workspaceId: string, plan: PlanSummary | null): Promise<SyncView> {
  return {
    progress: await progressOf(client, workspaceId),
    plan: plan ?? (await asked<PlanSummary | null>(client, workspaceId, 'plan')),
    budget: await asked<GovernorState | null>(client, workspaceId, 'budget'),
  }
}

/** @throws what ended a sync before it had begun, while others waited behind it */
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
  tell(seen: SyncView): void
  /** Told of the sync that it waits behind. */
  waits?(ahead: SyncAhead): void
  answered?: WorkerCall
}

/** One look; null where no worker answers, or `signal` ended the looking. */
async function readOnce(following: FollowOptions, plan: PlanSummary | null): Promise<SyncView | null> {
  const { client, workspaceId, signal, answered = work => work() } = following
  try {
    return await answered(() => abortable(client, signal, () => readView(client, workspaceId, plan)))
  } catch (error) {
    if (signal.aborted || failedForWantOfWorker(error)) return null
    throw error
  }
}

/** True for the progress of another sync than `run`, which has not had its turn. */
const isAhead = (progress: Progress, run: string): progress is SyncAhead =>
  progress.run !== null && progress.run !== run && progress.phase !== 'idle'

const isReportOf = async (result: Promise<SyncReport | null>, run: string): Promise<boolean> =>
  (await result.catch(() => null))?.run === run

/**
 * Tells what is seen until that run has ended; its report, or null where `signal` ended the looking. Where no worker answers, it
 * looks on until one does.
 * @throws what ended the workflow
 */
export async function follow(following: FollowOptions): Promise<SyncReport | null> {
  const { client, signal, tell } = following
  const { run, handle } = following.asked
  let plan: PlanSummary | null = null
  let over = false
  let looks = 0
  const result = abortable(client, signal, () => reportOf(handle)).finally(() => {
    over = true
  })
  result.catch(() => {})
  while (!signal.aborted) {
    const last = over
    const seen = await readOnce(following, plan)
    if (seen?.progress.run === run) {
      plan = seen.plan
      tell(seen)
    }
    const report = seen?.progress.reports.find(ended => ended.run === run)
    if (report) return expectBegun(report)
    if (seen && isAhead(seen.progress, run)) following.waits?.(seen.progress)
    if (last) looks += 1
    const enough = seen !== null || looks === LAST_LOOKS
    if (last && !signal.aborted && (enough || (await isReportOf(result, run)))) return result
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})
  }
  return null
}
