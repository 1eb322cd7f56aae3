// Says a word to the owners of the chosen workspaces.
import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client'
import { readConfig } from '../../config.ts'
import { connectClient } from '../../run/temporal/connection.ts'
import { ownerId } from '../../run/temporal/owner.ts'
import { chooseWorkspaces } from '../flags/workspaces.ts'
import { say } from '../terminal/say.ts'

export type Steering = 'pause' | 'resume' | 'cancel'

export interface SteerFlags {
  config?: string
  workspace?: string
}

const DONE: Record<Steering, string> = { pause: 'paused', resume: 'resumed', cancel: 'asked to end' }

async function isRunning(handle: WorkflowHandle): Promise<boolean> {
  try {
    return (await handle.describe()).status.name === 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

/** @throws TEMPORAL_UNREACHABLE, WORKSPACE_UNKNOWN */
export async function runSteer(steering: Steering, flags: SteerFlags): Promise<void> {
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
      await (steering === 'cancel' ? handle.cancel() : handle.executeUpdate(steering))
      say(`${id}: ${DONE[steering]}`)
    }
  } finally {
    await client.connection.close()
  }
}
