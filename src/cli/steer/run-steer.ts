// Says a word to the owners of the chosen workspaces.
import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client'
import { readConfig } from '../../config.ts'
import type { Allowance } from '../../core/allowance.ts'
import { connectClient } from '../../run/temporal/connection.ts'
import { ownerId } from '../../run/temporal/owner.ts'
import { invalidFlag } from '../flags/values.ts'
import { chooseWorkspaces } from '../flags/workspaces.ts'
import { say } from '../terminal/say.ts'

export type Steering = 'pause' | 'resume' | 'cancel' | 'allow'

export interface SteerFlags {
  config?: string
  workspace?: string
  /** Of `allow`. */
  overagePacks?: number
  maxSessions?: number
}

const DONE: Record<Steering, string> = { pause: 'paused', resume: 'resumed', cancel: 'asked to end', allow: 'allowed' }

async function isRunning(handle: WorkflowHandle): Promise<boolean> {
  try {
    return (await handle.describe()).status.name === 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

/** @throws FLAG_INVALID where nothing is allowed */
function allowanceOf({ overagePacks, maxSessions }: SteerFlags): Allowance {
  if (overagePacks === undefined && maxSessions === undefined)
    throw invalidFlag('Nothing is allowed.', 'Give --overage-packs or --max-sessions.')
  return {
    ...(overagePacks !== undefined && { packs: overagePacks }),
    ...(maxSessions !== undefined && { sessions: maxSessions }),
  }
}

/** How it is said to an owner. */
function wordOf(steering: Steering, flags: SteerFlags): (handle: WorkflowHandle) => Promise<unknown> {
  if (steering === 'cancel') return handle => handle.cancel()
  if (steering !== 'allow') return handle => handle.executeUpdate(steering)
  const args: [Allowance] = [allowanceOf(flags)]
  return handle => handle.executeUpdate<unknown, [Allowance]>('raiseBudget', { args })
}

/** @throws FLAG_INVALID, TEMPORAL_UNREACHABLE, WORKSPACE_UNKNOWN */
export async function runSteer(steering: Steering, flags: SteerFlags): Promise<void> {
  const tell = wordOf(steering, flags)
  const workspaces = chooseWorkspaces(
    readConfig(flags.config === undefined ? {} : { path: flags.config }),
    flags.workspace,
  )
  const client = await connectClient()
  try {
    for (const { id } of workspaces) {
      const handle = client.workflow.getHandle(ownerId(id))
      if (!(await isRunning(handle))) {
        say(`${id}: no sync goes on`)
        continue
      }
      await tell(handle)
      say(`${id}: ${DONE[steering]}`)
    }
  } finally {
    await client.connection.close()
  }
}
