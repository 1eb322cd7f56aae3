// How workflows call activities: task queues, timeouts, retries, and what a failure means.
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
/** Planning and loading may take long; heartbeats show whether a worker is still at it. */
const MAX_DURATION = '1 hour'
/** Beyond a lease's deadline and one request's timeout: its last page has to land. */
const LANDING_MS = 30 * SECOND

/** Activities of the worker that holds the warehouse. */
export const warehouse = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: MAX_DURATION,
  heartbeatTimeout: HEARTBEAT_MS,
  retry: { maximumInterval: '1 minute' },
})

/** Activities of any worker with the landing, with retries. */
export const exportActivities = (): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    startToCloseTimeout: MAX_DURATION,
    heartbeatTimeout: HEARTBEAT_MS,
  })

/** Without retries: a request that was sent is paid. On cancellation the workflow waits for what the lease still brings. */
export const leasedActivities = (timeoutMs: number, { deadlineMs }: Grant, summary: string): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    scheduleToCloseTimeout: Math.max(0, deadlineMs - Date.now()) + timeoutMs + LANDING_MS,
    heartbeatTimeout: HEARTBEAT_MS,
    retry: { maximumAttempts: 1 },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary,
  })

/** Rethrows a failure of ours as the error that it was, and anything else as it is. */
export function rethrowActivityFailure(error: unknown): never {
  const cause = error instanceof ActivityFailure ? error.cause : undefined
  const [failure] = cause instanceof ApplicationFailure ? ((cause.details ?? []) as Partial<Failure>[]) : []
  if (failure?.code === undefined) throw error
  throw new ConvohouseError(failure.code, { what: failure.what ?? '', ...(failure.hint && { hint: failure.hint }) })
}

/** The worker was lost, or missed its heartbeats. */
export const isLost = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof TimeoutFailure

/** Cancelled before a worker took it; one that has taken it ends the lease and answers. */
export const wasNeverStarted = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof CancelledFailure
