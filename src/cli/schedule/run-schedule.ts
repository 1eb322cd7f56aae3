// `convohouse schedule`: over the chosen workspaces, one line or one JSON object each.
import type { Client } from '@temporalio/client'
import { type Config, readConfig, type WorkspaceConfig } from '../../config.ts'
import { connectClient } from '../../run/temporal/connection.ts'
import type { Change } from '../../run/temporal/schedule-change.ts'
import {
  changeSchedule,
  type Ensured,
  ensureSchedule,
  type ScheduleState,
  scheduleState,
} from '../../run/temporal/schedules.ts'
import { chooseWorkspaces } from '../flags/workspaces.ts'
import { say, sayJson } from '../terminal/say.ts'
import { counted } from '../terminal/words.ts'

export interface ScheduleFlags {
  config?: string
  workspace?: string
  json?: boolean
}

interface Chosen {
  client: Client
  config: Config
  workspace: WorkspaceConfig
}

/** @throws TEMPORAL_UNREACHABLE, WORKSPACE_UNKNOWN, and what `work` throws */
async function eachChosen(flags: ScheduleFlags, work: (chosen: Chosen) => Promise<void>): Promise<void> {
  const config = readConfig(flags.config === undefined ? {} : { path: flags.config })
  const workspaces = chooseWorkspaces(config, flags.workspace)
  const client = await connectClient()
  try {
    for (const workspace of workspaces) await work({ client, config, workspace })
  } finally {
    await client.connection.close()
  }
}

const timeText = (time: Date | null): string => (time ? time.toISOString() : 'never')

function stateText({ workspaceId, schedule }: ScheduleState): string {
  if (schedule === null) return `${workspaceId}: no schedule`
  const { paused, next, last, ticks } = schedule
  return `${workspaceId}: ${paused ? 'paused' : `next ${timeText(next)}`}, last ${timeText(last)}, ${counted(ticks, 'tick')}`
}

const ENSURED: Record<Ensured, string> = {
  created: 'created',
  updated: 'updated',
  unchanged: 'unchanged',
  kept: 'kept as `convohouse up` made it (the configuration names none; `convohouse schedule delete` ends it)',
  deleted: 'deleted (the configuration names none any more)',
  none: 'none (the configuration names none)',
}

export const runEnsure = (flags: ScheduleFlags): Promise<void> =>
  eachChosen(flags, async ({ client, config, workspace }) => {
    const ensured = await ensureSchedule(client, { config, workspace })
    if (flags.json) sayJson({ workspaceId: workspace.id, ensured })
    else say(`${workspace.id}: ${ENSURED[ensured]}`)
  })

export const runList = (flags: ScheduleFlags): Promise<void> =>
  eachChosen(flags, async ({ client, workspace }) => {
    const state = await scheduleState(client, workspace.id)
    if (flags.json) sayJson(state)
    else say(stateText(state))
  })

export const runChange = (change: Change, flags: ScheduleFlags): Promise<void> =>
  eachChosen(flags, async ({ client, workspace }) => {
    await changeSchedule(client, workspace.id, change)
    if (flags.json) sayJson({ workspaceId: workspace.id, changed: change })
    else say(`${workspace.id}: ${change} done`)
  })
