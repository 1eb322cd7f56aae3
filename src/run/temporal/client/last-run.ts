// The last run of a workspace's schedule, read from the server's records without a worker.
//
// A tick only requests a sync from the owner workflow. So the last run is the owner workflow's newest execution, no matter
// who requested it. But if a newer tick has not reached the owner workflow yet, that tick counts as the last run.
import {
  type Client,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client'
import type { SyncReport } from '../../../../workflows/steps.ts'
import { ConvohouseError, type ErrorCode } from '../../../core/errors.ts'
import { failureIn } from '../failure.ts'
import { reportOf } from './follow.ts'
import { type OwnerHandle, ownerId } from './owner.ts'

interface End {
  /** `unanswered`: no worker has picked up the tick yet. */
  outcome: SyncReport['outcome'] | 'running' | 'unanswered'
  /** `code` is null for an error that convohouse did not raise. */
  failure: { code: ErrorCode | null; what: string } | null
  /** True if only history waits, because the sessions left are reserved. */
  isReserved?: boolean
}

export interface LastRun extends End {
  startedAt: Date
  /** Null while it runs. */
  endedAt: Date | null
}

/** A workflow that the schedule started. */
export interface Tick {
  takenAt: Date
  workflowId: string
  runId: string
}

/** Returns the workflow's description; null if the server does not know the workflow. */
async function described(handle: WorkflowHandle): Promise<WorkflowExecutionDescription | null> {
  try {
    return await handle.describe()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

/** Returns the outcome of a workflow that failed with `error`. */
function endFromError(error: unknown): End {
  const { code, what } =
    error instanceof ConvohouseError
      ? { code: error.code, what: error.message }
      : (failureIn(error) ?? { code: null, what: "Temporal's UI shows why" })
  return code === 'INTERRUPTED'
    ? { outcome: 'interrupted', failure: null }
    : { outcome: 'failed', failure: { code, what } }
}

function endFromReport({ outcome, failures: [first], reserve }: SyncReport): End {
  return { outcome, failure: first ? { code: first.code, what: first.what } : null, isReserved: reserve !== undefined }
}

/** Returns the start of the first run of a continue-as-new chain. */
async function startOf(
  client: Client,
  { startTime, workflowId, runId, raw }: WorkflowExecutionDescription,
): Promise<Date> {
  const first = raw.workflowExecutionInfo?.firstRunId
  if (!first || first === runId) return startTime
  return (await described(client.workflow.getHandle(workflowId, first)))?.startTime ?? startTime
}

/** Returns the newest execution of the owner workflow; null if the server knows none. */
async function lastOwnerRun(client: Client, workspaceId: string): Promise<LastRun | null> {
  const owner = await described(client.workflow.getHandle(ownerId(workspaceId)))
  if (owner === null) return null
  const startedAt = await startOf(client, owner)
  const { runId, status, closeTime = null } = owner
  if (status.name === 'RUNNING') return { startedAt, endedAt: null, outcome: 'running', failure: null }
  const handle: OwnerHandle = client.workflow.getHandle(ownerId(workspaceId), runId)
  const end = await reportOf(handle).then(report => report && endFromReport(report), endFromError)
  return end && { startedAt, endedAt: closeTime, ...end }
}

/** Returns the tick as a run; null if it has reached the owner workflow. */
async function pendingTick(client: Client, { takenAt, workflowId, runId }: Tick): Promise<LastRun | null> {
  const handle = client.workflow.getHandle(workflowId, runId)
  const tick = await described(handle)
  if (tick === null || tick.status.name === 'COMPLETED') return null
  if (tick.status.name === 'RUNNING') return { startedAt: takenAt, endedAt: null, outcome: 'unanswered', failure: null }
  const end = await handle.result().then(() => null, endFromError)
  return end && { startedAt: takenAt, endedAt: tick.closeTime ?? null, ...end }
}

/** Returns the last run; null if nothing has run. `tick`: the schedule's newest tick, or null. */
export async function lastRun(client: Client, workspaceId: string, tick: Tick | null): Promise<LastRun | null> {
  const [asked, sync] = await Promise.all([tick && pendingTick(client, tick), lastOwnerRun(client, workspaceId)])
  return asked && (sync === null || sync.startedAt < asked.startedAt) ? asked : sync
}
