// Calls of activities by workflows: task queues, timeouts, retries, and the interpretation of failures.
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
import type { Grant } from '../../src/core/governor/governor.ts'
import { type ExportActivities, exportQueueBeside, HEARTBEAT_MS, type WarehouseActivities } from '../activities.ts'
import type { Failure } from '../steps.ts'

const SECOND = 1_000
/** Planning and loading may take long; heartbeats show whether a worker is still working on them. */
const MAX_DURATION = '1 hour'
/** Time added to a lease's deadline and one request's timeout, in which the last page lands. */
const LANDING_MS = 30 * SECOND

/** Activities of the worker that holds the warehouse. */
export const warehouse = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: MAX_DURATION,
  heartbeatTimeout: HEARTBEAT_MS,
  retry: { maximumInterval: '1 minute' },
})

/** Returns the activities of any worker that has the landing, with retries. */
export const exportActivities = (): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    startToCloseTimeout: MAX_DURATION,
    heartbeatTimeout: HEARTBEAT_MS,
  })

/**
 * Returns activities under a lease, without retries, because a sent request is billed. If cancelled, the workflow waits
 * for the lease's outcome.
 */
export const leasedActivities = (timeoutMs: number, { deadlineMs }: Grant, summary: string): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    scheduleToCloseTimeout: Math.max(0, deadlineMs - Date.now()) + timeoutMs + LANDING_MS,
    heartbeatTimeout: HEARTBEAT_MS,
    retry: { maximumAttempts: 1 },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary,
  })

/** Rethrows the ConvohouseError behind an activity's failure, or any other error unchanged. */
export function rethrowActivityFailure(error: unknown): never {
  const cause = error instanceof ActivityFailure ? error.cause : undefined
  const [failure] = cause instanceof ApplicationFailure ? ((cause.details ?? []) as Partial<Failure>[]) : []
  if (failure?.code === undefined) throw error
  throw new ConvohouseError(failure.code, { what: failure.what ?? '', ...(failure.hint && { hint: failure.hint }) })
}

/** True if the worker was lost, or missed its heartbeats. */
export const isLost = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof TimeoutFailure

/** True if the activity was cancelled before a worker took it. A worker that has taken it ends the lease and returns the outcome. */
export const wasNeverStarted = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof CancelledFailure
