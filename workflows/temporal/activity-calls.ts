// How the owner calls upon workers: on which queue, how long, and whether twice.
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  proxyActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow'
import { ConvohouseError } from '../../src/core/errors.ts'
import type { Grant } from '../../src/core/governor.ts'
import { type ExportActivities, exportQueueBeside, HEARTBEAT_MS, type WarehouseActivities } from '../activities.ts'
import type { Failure } from '../steps.ts'

const SECOND = 1_000
/** Planning reads the landing, and loading a batch takes as long as its pages: heartbeats tell whether anybody works. */
const AT_MOST = '1 hour'
/** A lease may end so much later than its deadline and a request's time: its last page has to land. */
const LANDING_MS = 30 * SECOND

/** What the warehouse's worker does. */
export const warehouse = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: AT_MOST,
  heartbeatTimeout: HEARTBEAT_MS,
  retry: { maximumInterval: '1 minute' },
})

/** What any worker does that has the landing, as often as it takes. */
export const exportActivities = (): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    startToCloseTimeout: AT_MOST,
    heartbeatTimeout: HEARTBEAT_MS,
  })

/** Under a lease nothing is tried twice: what was asked for is paid. Where it is cancelled, what it brings until it ends still counts. */
export const leasedActivities = (timeoutMs: number, { deadlineMs }: Grant, summary: string): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    scheduleToCloseTimeout: Math.max(0, deadlineMs - Date.now()) + timeoutMs + LANDING_MS,
    heartbeatTimeout: HEARTBEAT_MS,
    retry: { maximumAttempts: 1 },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary,
  })

/** What an activity told of its failure, as the error that it was; anything else is passed on. */
export function rethrowActivityFailure(error: unknown): never {
  const cause = error instanceof ActivityFailure ? error.cause : undefined
  const [failure] = cause instanceof ApplicationFailure ? ((cause.details ?? []) as Partial<Failure>[]) : []
  if (failure?.code === undefined) throw error
  throw new ConvohouseError(failure.code, { what: failure.what ?? '', ...(failure.hint && { hint: failure.hint }) })
}

/** The holder of a lease was lost, or is thought so. */
export const isLost = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof TimeoutFailure

/** Cancelled before a worker had taken it: one that works ends its lease and answers. */
export const wasNeverStarted = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof CancelledFailure
