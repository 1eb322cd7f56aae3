// `convohouse pause`, `resume`, `allow` and `cancel`: send a request to the owner workflow of each chosen workspace.
import { type Client, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client'
import type { Command } from 'commander'
import type { Allowance } from '../core/governor/governor.ts'
import { type Absence, awaitWorker, hasPollers } from '../run/temporal/client/await-worker.ts'
import { connectClient } from '../run/temporal/client/connection.ts'
import { ownerId } from '../run/temporal/client/owner.ts'
import { chooseWorkspaces, configAt } from './flags/configuration.ts'
import { addConfigFlag, addWorkspaceFlag } from './flags/sync-flags.ts'
import { invalidFlag, whole } from './flags/values.ts'
import { noWorkerText } from './terminal/notes.ts'
import { log, print } from './terminal/print.ts'

type ControlCommand = 'pause' | 'resume' | 'cancel' | 'allow'

interface ControlFlags {
  config?: string
  workspace?: string
  /** For `allow`. */
  overagePacks?: number
  maxSessions?: number
}

const EXAMPLES: Record<ControlCommand, string> = {
  pause: '     requests in flight still land',
  resume: '     continues where it stopped',
  allow: ' --overage-packs 2     two packs in total, beyond the quota',
  cancel: '     requests in flight still land; the next sync continues',
}

export function define(command: Command): void {
  const name = command.name() as ControlCommand
  addWorkspaceFlag(addConfigFlag(command))
    .addHelpText('after', `\nExamples:\n  $ convohouse ${name} --workspace ws_1${EXAMPLES[name]}`)
    .action((flags: ControlFlags) => runControl(name, flags))
  if (name === 'allow')
    command
      .option(
        '--overage-packs <n>',
        'number of overage packs that the sync may use in a billing period; history that was skipped for lack of sessions is planned again',
        whole('--overage-packs', 1),
      )
      .option(
        '--max-sessions <n>',
        'new limit of billed sessions, higher than the current one',
        whole('--max-sessions', 1),
      )
}

const DONE: Record<ControlCommand, string> = {
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancellation requested',
  allow: 'new limits accepted',
}

/** Returns the limits that `allow` raises. @throws FLAG_INVALID if no limit is given */
function allowanceOf({ overagePacks, maxSessions }: ControlFlags): Allowance {
  if (overagePacks === undefined && maxSessions === undefined)
    throw invalidFlag('No limit is given.', 'Give --overage-packs or --max-sessions.')
  return {
    ...(overagePacks !== undefined && { packs: overagePacks }),
    ...(maxSessions !== undefined && { sessions: maxSessions }),
  }
}

type Update = (handle: WorkflowHandle) => Promise<unknown>

/** Returns the update for a worker to answer; null for `cancel`, which the server itself accepts. */
function updateOf(command: ControlCommand, flags: ControlFlags): Update | null {
  if (command === 'cancel') return null
  if (command !== 'allow') return handle => handle.executeUpdate(command)
  const args: [Allowance] = [allowanceOf(flags)]
  return handle => handle.executeUpdate<unknown, [Allowance]>('raiseBudget', { args })
}

interface Addressed {
  handle: WorkflowHandle
  queue: string
  update: Update | null
}

/** Sends the update or the cancellation, and logs a message if no worker polls the queue. */
async function execute(client: Client, { handle, queue, update }: Addressed): Promise<void> {
  if (update) {
    const unanswered = (absence: Absence) => log(noWorkerText(absence, queue))
    await awaitWorker({ client, queue, unanswered })(() => update(handle))
    return
  }
  await handle.cancel()
  if ((await hasPollers(client, queue)) === false) log(noWorkerText('none', queue, 'The sync ends once a worker runs.'))
}

/** Sends the request to a workspace's owner workflow; returns false if no sync is running. */
async function send(client: Client, workspaceId: string, update: Update | null): Promise<boolean> {
  const handle = client.workflow.getHandle(ownerId(workspaceId))
  try {
    const { status, taskQueue } = await handle.describe()
    if (status.name !== 'RUNNING') return false
    await execute(client, { handle, queue: taskQueue, update })
    return true
  } catch (error) {
    // The sync ended between the two calls.
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

/** @throws FLAG_INVALID, TEMPORAL_UNREACHABLE, WORKSPACE_UNKNOWN */
async function runControl(command: ControlCommand, flags: ControlFlags): Promise<void> {
  const update = updateOf(command, flags)
  const workspaces = chooseWorkspaces(configAt(flags.config), flags.workspace)
  const client = await connectClient()
  try {
    for (const { id } of workspaces) {
      const received = await send(client, id, update)
      print(`${id}: ${received ? DONE[command] : 'no sync is running'}`)
    }
  } finally {
    await client.connection.close()
  }
}
