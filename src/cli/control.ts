// `convohouse pause`, `resume`, `allow` and `cancel`: sends the request to the owner workflow of each chosen workspace.
import { type Client, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client'
import type { Allowance } from '../core/governor/allowance.ts'
import { type Absence, awaitWorker, hasPollers } from '../run/temporal/client/await-worker.ts'
import { connectClient } from '../run/temporal/client/connection.ts'
import { ownerId } from '../run/temporal/client/owner.ts'
import { chooseWorkspaces, configAt } from './flags/configuration.ts'
import { invalidFlag } from './flags/values.ts'
import { noWorkerText } from './no-worker-text.ts'
import { log, print } from './terminal/print.ts'

export type ControlCommand = 'pause' | 'resume' | 'cancel' | 'allow'

export interface ControlFlags {
  config?: string
  workspace?: string
  /** For `allow`. */
  overagePacks?: number
  maxSessions?: number
}

const DONE: Record<ControlCommand, string> = {
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancellation requested',
  allow: 'allowed',
}

/** @throws FLAG_INVALID without any limit */
function allowanceOf({ overagePacks, maxSessions }: ControlFlags): Allowance {
  if (overagePacks === undefined && maxSessions === undefined)
    throw invalidFlag('No limit is given.', 'Give --overage-packs or --max-sessions.')
  return {
    ...(overagePacks !== undefined && { packs: overagePacks }),
    ...(maxSessions !== undefined && { sessions: maxSessions }),
  }
}

type Update = (handle: WorkflowHandle) => Promise<unknown>

/** The update that a worker has to answer; null for `cancel`, which the server accepts by itself. */
function updateOf(steering: ControlCommand, flags: ControlFlags): Update | null {
  if (steering === 'cancel') return null
  if (steering !== 'allow') return handle => handle.executeUpdate(steering)
  const args: [Allowance] = [allowanceOf(flags)]
  return handle => handle.executeUpdate<unknown, [Allowance]>('raiseBudget', { args })
}

interface Addressed {
  handle: WorkflowHandle
  queue: string
  word: Update | null
}

/** Sends the request, and logs when no worker polls. */
async function execute(client: Client, { handle, queue, word }: Addressed): Promise<void> {
  if (word) {
    const unanswered = (absence: Absence) => log(noWorkerText(absence, queue))
    await awaitWorker({ client, queue, unanswered })(() => word(handle))
    return
  }
  await handle.cancel()
  if ((await hasPollers(client, queue)) === false) log(noWorkerText('none', queue, 'The sync ends when a worker runs.'))
}

/** True if a running sync received the request. */
async function send(client: Client, workspaceId: string, word: Update | null): Promise<boolean> {
  const handle = client.workflow.getHandle(ownerId(workspaceId))
  try {
    const { status, taskQueue } = await handle.describe()
    if (status.name !== 'RUNNING') return false
    await execute(client, { handle, queue: taskQueue, word })
    return true
  } catch (error) {
    // The sync may have ended meanwhile.
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

/** @throws FLAG_INVALID, TEMPORAL_UNREACHABLE, WORKSPACE_UNKNOWN */
export async function runControl(steering: ControlCommand, flags: ControlFlags): Promise<void> {
  const word = updateOf(steering, flags)
  const workspaces = chooseWorkspaces(configAt(flags.config), flags.workspace)
  const client = await connectClient()
  try {
    for (const { id } of workspaces) {
      const heard = await send(client, id, word)
      print(`${id}: ${heard ? DONE[steering] : 'no sync is running'}`)
    }
  } finally {
    await client.connection.close()
  }
}
