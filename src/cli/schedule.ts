// `convohouse schedule`: creates, shows and changes the Temporal schedules of the chosen workspaces, and runs backfills.

import type { Client } from '@temporalio/client'
import { Command } from 'commander'
import { warehouseQueue } from '../../workflows/activities.ts'
import { systemClock } from '../clock.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { outcomeText } from '../core/run-record.ts'
import { durationText, formatDuration } from '../core/time.ts'
import { count, utc } from '../core/words.ts'
import { hasPollers } from '../run/temporal/client/await-worker.ts'
import { connectClient } from '../run/temporal/client/connection.ts'
import { type LastRun, lastRun } from '../run/temporal/client/last-run.ts'
import {
  type Change,
  changeSchedule,
  deleteUnconfigured,
  type Ensured,
  ensureSchedule,
  expectSchedule,
  type ScheduleState,
  scheduleState,
} from '../run/temporal/client/schedules.ts'
import { chooseWorkspaces, configAt } from './flags/configuration.ts'
import { addConfigFlag, addWorkspaceFlag, checkTogether, type SyncFlags } from './flags/sync-flags.ts'
import { invalidFlag, moment, whole } from './flags/values.ts'
import { syncOnTemporal } from './sync/on-temporal.ts'
import { grid, gridOnStdout } from './terminal/columns.ts'
import { noWorkerText } from './terminal/notes.ts'
import { log, print, printJson } from './terminal/print.ts'

const addFlags = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command)).option('--json', 'one JSON object per workspace, for machines')

const ABOUT: Record<Change, string> = {
  pause: 'start no more syncs until the schedule is resumed; a running sync continues',
  resume: 'resume a paused schedule',
  trigger: 'start a sync now',
  delete: 'delete the schedule; `ensure` creates it again',
}

const ensureCommand = (): Command =>
  addFlags(new Command('ensure').description('create, update or delete schedules to match the configuration')).action(
    runEnsure,
  )

const listCommand = (): Command =>
  addFlags(new Command('list').description('list schedules, their next run, and the outcome of the last run')).action(
    runList,
  )

const changeCommand = (change: Change): Command =>
  addFlags(new Command(change).description(ABOUT[change])).action((flags: ScheduleFlags) => runChange(change, flags))

const backfillCommand = (): Command =>
  addFlags(new Command('backfill').description('export what is missing in a time range; Ctrl-C only detaches'))
    .option('--since <moment>', 'start of the range: a date, a time, or an age such as 90d', moment('--since'))
    .option('--until <moment>', 'end of the range (default: now)', moment('--until'))
    .option('--max-sessions <n>', 'bill at most this many sessions', whole('--max-sessions', 1))
    .option('-y, --yes', 'start without asking for confirmation, even if it may use most of the quota')
    .action(async (flags: BackfillFlags) => {
      process.exitCode = await runBackfill(flags)
    })

export function define(command: Command): void {
  command.addCommand(ensureCommand()).addCommand(listCommand(), { isDefault: true })
  for (const change of Object.keys(ABOUT) as Change[]) command.addCommand(changeCommand(change))
  command.addCommand(backfillCommand()).addHelpText(
    'after',
    `
Examples:
  $ convohouse schedule ensure               can be run repeatedly
  $ convohouse schedule list
  $ convohouse schedule pause --workspace ws_1
  $ convohouse schedule backfill --since 2026-01-01 --until 2026-04-01

A workspace's \`schedule: { every: 15m }\` in convohouse.yaml sets the interval. A scheduled run does the same as \`convohouse sync\`, or
joins a sync that is already running. A missed run needs no backfill: the next one reads everything new. A backfill is for older
time ranges, such as history before the configured \`since\`; it does not export stored conversations again.`,
  )
}

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

/** Runs `work` for each chosen workspace, then `afterwards` once. @throws TEMPORAL_UNREACHABLE, WORKSPACE_UNKNOWN */
async function eachChosen(
  flags: ScheduleFlags,
  work: (chosen: Chosen) => Promise<void>,
  afterwards: (app: Omit<Chosen, 'workspace'>) => Promise<void> = async () => {},
): Promise<void> {
  const config = configAt(flags.config)
  const workspaces = chooseWorkspaces(config, flags.workspace)
  const client = await connectClient()
  try {
    for (const workspace of workspaces) await work({ client, config, workspace })
    await afterwards({ client, config })
  } finally {
    await client.connection.close()
  }
}

const ENSURED: Record<Ensured, string> = {
  created: 'created',
  updated: 'updated',
  unchanged: 'unchanged',
  kept: 'kept as created by `convohouse up` (none is configured; `convohouse schedule delete` removes it)',
  deleted: 'deleted (no longer configured)',
  none: 'no schedule (none is configured)',
}

function printEnsured(
  flags: ScheduleFlags,
  workspaceId: string,
  { ensured, text }: { ensured: Ensured; text: string },
) {
  if (flags.json) printJson({ workspaceId, ensured })
  else print(`${workspaceId}: ${text}`)
}

const runEnsure = (flags: ScheduleFlags): Promise<void> =>
  eachChosen(
    flags,
    async ({ client, config, workspace }) => {
      const ensured = await ensureSchedule(client, { config, workspace })
      printEnsured(flags, workspace.id, { ensured, text: ENSURED[ensured] })
    },
    async ({ client, config }) => {
      if (flags.workspace !== undefined) return
      const text = 'deleted (the workspace is no longer configured)'
      for (const id of await deleteUnconfigured(client, config)) printEnsured(flags, id, { ensured: 'deleted', text })
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
  const nowMs = Date.now()
  const rows = all.map(status => row(status, nowMs))
  print(...grid(COLUMNS, rows, gridOnStdout()))
}

/** Warns if no worker polls the queue, so that the run waits on the server. */
async function warnWithoutWorker(client: Client, { temporal }: Config): Promise<void> {
  const queue = warehouseQueue(temporal.queues)
  if ((await hasPollers(client, queue)) === false)
    log(noWorkerText('none', queue, 'The run starts once a worker runs.'))
}

const CHANGED: Record<Change, string> = {
  pause: 'schedule paused',
  resume: 'schedule resumed',
  trigger: 'sync requested',
  delete: 'schedule deleted',
}

const runChange = (change: Change, flags: ScheduleFlags): Promise<void> =>
  eachChosen(
    flags,
    async ({ client, workspace }) => {
      await changeSchedule(client, workspace.id, change)
      if (flags.json) printJson({ workspaceId: workspace.id, changed: change })
      else print(`${workspace.id}: ${CHANGED[change]}`)
    },
    async ({ client, config }) => {
      if (change === 'trigger') await warnWithoutWorker(client, config)
    },
  )

/** A workspace's schedule and last run; `lastRun` is null if nothing has run. */
type ScheduleStatus = ScheduleState & { lastRun: LastRun | null }

const COLUMNS = [
  { name: 'workspace' },
  { name: 'schedule' },
  { name: 'state' },
  { name: 'next (UTC)' },
  { name: 'last run (UTC)' },
  { name: 'outcome' },
  { name: 'took' },
  { name: 'ticks', right: true },
]

/** Returns `every 15m`, written as in the configuration, or the cron expression. */
export const whenText = (when: { cron: string } | { everyMs: number }): string =>
  'cron' in when ? when.cron : `every ${durationText(when.everyMs)}`

const timeText = (time: Date | null): string => (time ? utc(time.getTime()) : 'never')

function stateText({ paused, note }: NonNullable<ScheduleState['schedule']>): string {
  if (!paused) return 'active'
  return note ? `paused (${note})` : 'paused'
}

function lastOutcomeText({ outcome, failure, isReserved }: LastRun): string {
  if (outcome === 'unanswered') return 'no worker has answered'
  const text = outcomeText(outcome, isReserved)
  return failure ? `${text} (${failure.code ?? failure.what})` : text
}

/** Returns the cells for the last run. `lastRun` is null if nothing has run, or if the server has deleted the run. */
function runCells({ lastRun, schedule }: ScheduleStatus, nowMs: number): string[] {
  const tick = schedule?.lastTick
  if (lastRun === null) return tick ? [timeText(tick.takenAt), 'no longer kept by the server', ''] : ['never', '', '']
  const { startedAt, endedAt } = lastRun
  const tookMs = (endedAt?.getTime() ?? nowMs) - startedAt.getTime()
  return [timeText(startedAt), lastOutcomeText(lastRun), formatDuration(tookMs)]
}

function row(status: ScheduleStatus, nowMs: number): string[] {
  const { workspaceId, schedule } = status
  const run = runCells(status, nowMs)
  if (schedule === null) return [workspaceId, '', 'no schedule', '', ...run, '']
  const { when, paused, next, ticks } = schedule
  const nextText = paused ? '' : timeText(next)
  return [workspaceId, when.map(whenText).join(', '), stateText(schedule), nextText, ...run, count(ticks)]
}

export interface BackfillFlags extends ScheduleFlags {
  /** ms since the epoch. */
  since?: number
  until?: number
  maxSessions?: number
  yes?: boolean
}

/** @throws FLAG_INVALID for an empty or missing range */
export function checkRange({ since, until }: BackfillFlags, nowMs: number): void {
  if (since === undefined)
    throw invalidFlag('A backfill needs --since.', 'Give a start: --since 2026-01-01, or an age such as 90d.')
  checkTogether({ since, wait: true, ...(until !== undefined && { until }) }, nowMs)
  if (until !== undefined && until > nowMs)
    throw invalidFlag('--until lies in the future.', 'Omit it: scheduled runs read later conversations.')
}

/**
 * Exports missing conversations of a time range, through the owner workflow that schedules use; returns the exit code.
 * @throws FLAG_INVALID, SCHEDULE_MISSING, TEMPORAL_UNREACHABLE
 */
async function runBackfill(flags: BackfillFlags): Promise<number> {
  checkRange(flags, systemClock.now())
  const { workspace, config: path, ...given } = flags
  const config = configAt(path)
  const workspaces = chooseWorkspaces(config, workspace)
  const client = await connectClient()
  try {
    for (const { id } of workspaces) await expectSchedule(client, id)
  } finally {
    await client.connection.close()
  }
  const sync: SyncFlags = { ...given, wait: true }
  return syncOnTemporal({ flags: sync, config, workspaces, named: null, origin: 'backfill' })
}
