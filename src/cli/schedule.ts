// `convohouse schedule`: over the chosen workspaces, one line or one JSON object each.
import type { Client } from '@temporalio/client'
import { warehouseQueue } from '../../workflows/activities.ts'
import { type Config, readConfig, type WorkspaceConfig } from '../config.ts'
import { hasPollers } from '../run/temporal/client/await-worker.ts'
import { connectClient } from '../run/temporal/client/connection.ts'
import { lastRun } from '../run/temporal/client/last-run.ts'
import type { Change } from '../run/temporal/client/schedule-change.ts'
import {
  changeSchedule,
  deleteUnconfigured,
  type Ensured,
  ensureSchedule,
  scheduleState,
} from '../run/temporal/client/schedules.ts'
import { chooseWorkspaces } from './flags/workspaces.ts'
import { type ScheduleStatus, scheduleLines } from './schedule/schedule-text.ts'
import { log, print, printJson } from './terminal/print.ts'
import { isTerminal, styleOf } from './terminal/style.ts'
import { noWorkerText } from './worker/no-worker-text.ts'

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
async function eachChosen(
  flags: ScheduleFlags,
  work: (chosen: Chosen) => Promise<void>,
  behind: (app: Omit<Chosen, 'workspace'>) => Promise<void> = async () => {},
): Promise<void> {
  const config = readConfig(flags.config === undefined ? {} : { path: flags.config })
  const workspaces = chooseWorkspaces(config, flags.workspace)
  const client = await connectClient()
  try {
    for (const workspace of workspaces) await work({ client, config, workspace })
    await behind({ client, config })
  } finally {
    await client.connection.close()
  }
}

const ENSURED: Record<Ensured, string> = {
  created: 'created',
  updated: 'updated',
  unchanged: 'unchanged',
  kept: 'kept as `convohouse up` made it (the configuration names none; `convohouse schedule delete` ends it)',
  deleted: 'deleted (the configuration names none any more)',
  none: 'none (the configuration names none)',
}

function tellEnsured(flags: ScheduleFlags, workspaceId: string, { ensured, text }: { ensured: Ensured; text: string }) {
  if (flags.json) printJson({ workspaceId, ensured })
  else print(`${workspaceId}: ${text}`)
}

export const runEnsure = (flags: ScheduleFlags): Promise<void> =>
  eachChosen(
    flags,
    async ({ client, config, workspace }) => {
      const ensured = await ensureSchedule(client, { config, workspace })
      tellEnsured(flags, workspace.id, { ensured, text: ENSURED[ensured] })
    },
    async ({ client, config }) => {
      if (flags.workspace !== undefined) return
      const text = 'deleted (no such workspace is configured any more)'
      for (const id of await deleteUnconfigured(client, config)) tellEnsured(flags, id, { ensured: 'deleted', text })
    },
  )

async function statusOf(client: Client, workspaceId: string): Promise<ScheduleStatus> {
  const state = await scheduleState(client, workspaceId)
  return { ...state, lastRun: await lastRun(client, workspaceId, state.schedule?.lastTick ?? null) }
}

export async function runList(flags: ScheduleFlags): Promise<void> {
  const all: ScheduleStatus[] = []
  await eachChosen(flags, async ({ client, workspace }) => void all.push(await statusOf(client, workspace.id)))
  if (flags.json) return all.forEach(printJson)
  const width = isTerminal(process.stdout) ? process.stdout.columns : undefined
  print(...scheduleLines(all, Date.now(), { width, style: styleOf(process.stdout) }))
}

/** A tick is kept by the server until a worker takes it. */
async function tellIfNobodyTakes(client: Client, { temporal }: Config): Promise<void> {
  const queue = warehouseQueue(temporal.queues)
  if ((await hasPollers(client, queue)) === false) log(noWorkerText('none', queue, 'The tick waits for it.'))
}

export const runChange = (change: Change, flags: ScheduleFlags): Promise<void> =>
  eachChosen(
    flags,
    async ({ client, workspace }) => {
      await changeSchedule(client, workspace.id, change)
      if (flags.json) printJson({ workspaceId: workspace.id, changed: change })
      else print(`${workspace.id}: ${change} done`)
    },
    async ({ client, config }) => {
      if (change === 'trigger') await tellIfNobodyTakes(client, config)
    },
  )
