// Looking on at whatever a workspace's owner does, sync after sync, for as long as anybody wants to. Nothing of it depends on anybody
// looking, and what goes wrong with the looking is tried again.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { SyncReport } from '../../../../workflows/steps.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { SECOND } from '../../../core/time.ts'
import { abortable } from './abortable.ts'
import { follow, progressOf, reportOf, type SyncView } from './follow.ts'
import { type OwnerHandle, ownerId } from './owner.ts'

export interface SyncListener {
  /** A sync goes on: what is seen of it is told to what this returns. */
  begun(run: string): (seen: SyncView) => void
  reported(report: SyncReport): void
  /** What ended a sync before it had a report. */
  failed(error: ConvohouseError): void
}

/** One is there only while somebody has asked for a sync: most of the time none is. */
const LOOK_EVERY_MS = 2 * SECOND

interface WatchState {
  client: Client
  workspaceId: string
  audience: SyncListener
  signal: AbortSignal
  /** The execution that has ended and has been told to its end. */
  over: string | null
  /** Runs whose reports were told. */
  told: Set<string>
  /** Who is told of the sync that goes on: the same, however often the looking fails in between. */
  listener: { run: string; tell: (seen: SyncView) => void } | null
}

interface Execution {
  /** The same behind a continue-as-new. */
  id: string
  running: boolean
}

/** The owner that is there, or was there last. */
async function executionOf(client: Client, workspaceId: string): Promise<Execution | null> {
  try {
    const { runId, status, raw } = await client.workflow.getHandle(ownerId(workspaceId)).describe()
    return { id: raw.workflowExecutionInfo?.firstRunId || runId, running: status.name === 'RUNNING' }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

/** The owner that was there last and has ended; null where none has. */
export async function lastEndedExecution(client: Client, workspaceId: string): Promise<string | null> {
  const execution = await executionOf(client, workspaceId)
  return execution === null || execution.running ? null : execution.id
}

function report(attending: WatchState, ended: SyncReport | null): void {
  if (ended === null || attending.told.has(ended.run)) return
  attending.told.add(ended.run)
  attending.audience.reported(ended)
}

function listenerOf(attending: WatchState, run: string): (seen: SyncView) => void {
  const { listener, audience } = attending
  if (listener?.run === run) return listener.tell
  const tell = audience.begun(run)
  attending.listener = { run, tell }
  return tell
}

/** @throws what ended the sync, and what keeps us from looking */
async function followExecution(attending: WatchState, { running }: Execution): Promise<void> {
  const { client, workspaceId, signal } = attending
  const handle: OwnerHandle = client.workflow.getHandle(ownerId(workspaceId))
  if (!running) return report(attending, await abortable(client, signal, () => reportOf(handle)))
  const { run } = await abortable(client, signal, () => progressOf(client, workspaceId))
  if (run === null || attending.told.has(run)) return
  const tell = listenerOf(attending, run)
  report(attending, await follow({ client, workspaceId, asked: { run, handle }, signal, tell }))
}

async function pollOnce(attending: WatchState): Promise<void> {
  const { client, workspaceId, signal } = attending
  const execution = await abortable(client, signal, () => executionOf(client, workspaceId))
  if (execution === null || execution.id === attending.over) return
  try {
    await followExecution(attending, execution)
    if (!execution.running) attending.over = execution.id
  } catch (error) {
    if (!(error instanceof ConvohouseError)) throw error
    attending.over = execution.id
    attending.audience.failed(error)
  }
}

/** Tells of each sync of a workspace that goes on or begins, until the signal; not of those of the owner that is `over`. */
export async function watchWorkspace(options: {
  client: Client
  workspaceId: string
  audience: SyncListener
  signal: AbortSignal
  over: string | null
}): Promise<void> {
  const { signal } = options
  const attending: WatchState = { ...options, told: new Set(), listener: null }
  while (!signal.aborted) {
    // A server that is away, a worker that has no time to answer: the next look may see more.
    await pollOnce(attending).catch(() => {})
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})
  }
}
