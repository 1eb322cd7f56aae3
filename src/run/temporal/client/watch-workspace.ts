// Watches a workspace's owner workflow, sync after sync, until a signal. The syncs do not depend on being watched. If a
// poll fails, the next one tries again.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { SyncReport } from '../../../../workflows/steps.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { SECOND } from '../../../core/time.ts'
import { abortable } from './connection.ts'
import { follow, progressOf, reportOf, type SyncView } from './follow.ts'
import { type OwnerHandle, ownerId } from './owner.ts'

export interface SyncListener {
  /** Called when a sync is first seen; the returned function receives its progress. */
  begun(run: string): (seen: SyncView) => void
  reported(report: SyncReport): void
  /** Called with the error that ended a sync without a report. */
  failed(error: ConvohouseError): void
}

/** An owner workflow exists only while a sync is requested; most polls find none. */
const POLL_EVERY_MS = 2 * SECOND

interface WatchState {
  client: Client
  workspaceId: string
  listener: SyncListener
  signal: AbortSignal
  /** The closed execution whose end has been reported. */
  over: string | null
  /** Runs whose report was passed to the listener. */
  reported: Set<string>
  /** Receives the running sync's progress. It is kept while polls fail, so that a sync is announced only once. */
  current: { run: string; onProgress: (seen: SyncView) => void } | null
}

interface Execution {
  /** Id of the execution's first run, which stays the same across a continue-as-new. */
  id: string
  running: boolean
}

/** Returns the newest execution of the owner workflow; null if there is none. */
async function executionOf(client: Client, workspaceId: string): Promise<Execution | null> {
  try {
    const { runId, status, raw } = await client.workflow.getHandle(ownerId(workspaceId)).describe()
    return { id: raw.workflowExecutionInfo?.firstRunId || runId, running: status.name === 'RUNNING' }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

/** Returns the id of the newest execution if it has closed, else null. */
export async function lastEndedExecution(client: Client, workspaceId: string): Promise<string | null> {
  const execution = await executionOf(client, workspaceId)
  return execution === null || execution.running ? null : execution.id
}

function report(state: WatchState, ended: SyncReport | null): void {
  if (ended === null || state.reported.has(ended.run)) return
  state.reported.add(ended.run)
  state.listener.reported(ended)
}

function listenerOf(state: WatchState, run: string): (seen: SyncView) => void {
  const { current, listener } = state
  if (current?.run === run) return current.onProgress
  const onProgress = listener.begun(run)
  state.current = { run, onProgress }
  return onProgress
}

/** @throws the error that ended the sync, or the error of a failed query */
async function followExecution(state: WatchState, { running }: Execution): Promise<void> {
  const { client, workspaceId, signal } = state
  const handle: OwnerHandle = client.workflow.getHandle(ownerId(workspaceId))
  if (!running) return report(state, await abortable(client, signal, () => reportOf(handle)))
  const { run } = await abortable(client, signal, () => progressOf(client, workspaceId))
  if (run === null || state.reported.has(run)) return
  const onProgress = listenerOf(state, run)
  report(state, await follow({ client, workspaceId, asked: { run, handle }, signal, onProgress }))
}

async function pollOnce(state: WatchState): Promise<void> {
  const { client, workspaceId, signal } = state
  const execution = await abortable(client, signal, () => executionOf(client, workspaceId))
  if (execution === null || execution.id === state.over) return
  try {
    await followExecution(state, execution)
    if (!execution.running) state.over = execution.id
  } catch (error) {
    if (!(error instanceof ConvohouseError)) throw error
    state.over = execution.id
    state.listener.failed(error)
  }
}

/** Reports every running and new sync of a workspace until `signal` aborts. Skips the closed execution `over`. */
export async function watchWorkspace(options: {
  client: Client
  workspaceId: string
  listener: SyncListener
  signal: AbortSignal
  over: string | null
}): Promise<void> {
  const { signal } = options
  const state: WatchState = { ...options, reported: new Set(), current: null }
  while (!signal.aborted) {
    // The server may be away or the worker busy: poll again.
    await pollOnce(state).catch(() => {})
    await sleep(POLL_EVERY_MS, undefined, { signal }).catch(() => {})
  }
}
