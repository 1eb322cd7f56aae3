// Says a word to the owners of the chosen workspaces.
import { type Client, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client'
import { readConfig } from '../config.ts'
import type { Allowance } from '../core/allowance.ts'
import { type Absence, awaitWorker, hasPollers } from '../run/temporal/client/await-worker.ts'
import { connectClient } from '../run/temporal/client/connection.ts'
import { ownerId } from '../run/temporal/client/owner.ts'
import { invalidFlag } from './flags/values.ts'
import { chooseWorkspaces } from './flags/workspaces.ts'
import { log, print } from './terminal/print.ts'
import { noWorkerText } from './worker/no-worker-text.ts'

export type ControlCommand = 'pause' | 'resume' | 'cancel' | 'allow'

export interface ControlFlags {
  config?: string
  workspace?: string
  /** Of `allow`. */
  overagePacks?: number
  maxSessions?: number
}

const DONE: Record<ControlCommand, string> = {
  pause: 'paused',
  resume: 'resumed',
  cancel: 'asked to end',
  allow: 'allowed',
}

/** @throws FLAG_INVALID where nothing is allowed */
function allowanceOf({ overagePacks, maxSessions }: ControlFlags): Allowance {
  if (overagePacks === undefined && maxSessions === undefined)
    throw invalidFlag('Nothing is allowed.', 'Give --overage-packs or --max-sessions.')
  return {
    ...(overagePacks !== undefined && { packs: overagePacks }),
    ...(maxSessions !== undefined && { sessions: maxSessions }),
  }
}

type Word = (handle: WorkflowHandle) => Promise<unknown>

/** How it is said to an owner, where a worker has to answer; null: the server takes it. */
function wordOf(steering: ControlCommand, flags: ControlFlags): Word | null {
  if (steering === 'cancel') return null
  if (steering !== 'allow') return handle => handle.executeUpdate(steering)
  const args: [Allowance] = [allowanceOf(flags)]
  return handle => handle.executeUpdate<unknown, [Allowance]>('raiseBudget', { args })
}

interface Said {
  handle: WorkflowHandle
  queue: string
  word: Word | null
}

/** Says it, and that no worker hears it, where that is so. */
async function speak(client: Client, { handle, queue, word }: Said): Promise<void> {
  if (word) {
    const unanswered = (absence: Absence) => log(noWorkerText(absence, queue))
    await awaitWorker({ client, queue, unanswered })(() => word(handle))
    return
  }
  await handle.cancel()
  if ((await hasPollers(client, queue)) === false) log(noWorkerText('none', queue, 'It ends when one is there.'))
}

/** True where a sync has heard it. */
async function steer(client: Client, workspaceId: string, word: Word | null): Promise<boolean> {
  const handle = client.workflow.getHandle(ownerId(workspaceId))
  try {
    const { status, taskQueue } = await handle.describe()
    if (status.name !== 'RUNNING') return false
    await speak(client, { handle, queue: taskQueue, word })
    return true
  } catch (error) {
    // It may have ended while it was waited for.
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

/** @throws FLAG_INVALID, TEMPORAL_UNREACHABLE, WORKSPACE_UNKNOWN */
export async function runControl(steering: ControlCommand, flags: ControlFlags): Promise<void> {
  const word = wordOf(steering, flags)
  const workspaces = chooseWorkspaces(
    readConfig(flags.config === undefined ? {} : { path: flags.config }),
    flags.workspace,
  )
  const client = await connectClient()
  try {
    for (const { id } of workspaces) {
      const heard = await steer(client, id, word)
      print(`${id}: ${heard ? DONE[steering] : 'no sync goes on'}`)
    }
  } finally {
    await client.connection.close()
  }
}
