// Schedules: one per workspace, as configured. A tick requests a sync from the owner workflow, so scheduled and manual
// syncs meet in the same workflow.
import {
  type Client,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOptions,
} from '@temporalio/client'
import { warehouseQueue } from '../../../../workflows/activities.ts'
import type { SyncRequest } from '../../../../workflows/steps.ts'
import type { Schedule } from '../../../config/temporal.ts'
import type { Config, WorkspaceConfig } from '../../../config.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { parseMoment } from '../../../core/time.ts'
import { PLAIN_SYNC } from '../../embedded.ts'
import type { Tick } from './last-run.ts'
import { ownerId } from './owner.ts'

/** Returns the sync that a tick requests: everything new. It waits if the quota is exhausted. */
export const scheduledSync = ({ id, since }: WorkspaceConfig, nowMs: number): Omit<SyncRequest, 'run'> => ({
  ...PLAIN_SYNC,
  workspaceId: id,
  sinceMs: since === null ? null : (parseMoment(since, nowMs) ?? null),
  origin: 'schedule',
  unattended: true,
})

/** Returns the id of a workspace's schedule: that of the owner workflow, so that Temporal's UI shows both side by side. */
const idOf = (workspaceId: string): string => ownerId(workspaceId)

/** `kept`: no schedule is configured, and the existing one, a default created by `up`, stays. */
export type Ensured = 'created' | 'updated' | 'unchanged' | 'kept' | 'deleted' | 'none'

const CATCH_UP = '1 hour'

const specOf = (schedule: Schedule): ScheduleOptions['spec'] => ({
  ...('cron' in schedule ? { cronExpressions: [schedule.cron] } : { intervals: [{ every: schedule.everyMs }] }),
  jitter: schedule.jitterMs,
})

/** A schedule. It is either a default (true) or configured. */
interface ChosenSchedule {
  schedule: Schedule
  byDefault: boolean
}

/** The configuration that a schedule was created from, stored in the tick's argument to detect changes. */
interface MadeFrom {
  queues: string
  byDefault?: true
  cron?: string
}

function scheduleOptions(config: Config, { id }: WorkspaceConfig, { schedule, byDefault }: ChosenSchedule) {
  const { queues } = config.temporal
  const madeFrom = { ...schedule, queues, ...(byDefault && { byDefault }) } satisfies MadeFrom
  return {
    spec: specOf(schedule),
    action: {
      type: 'startWorkflow' as const,
      workflowType: 'tick',
      workflowId: `tick/${id}`,
      taskQueue: warehouseQueue(queues),
      args: [{ workspaceId: id, madeFrom: JSON.stringify(madeFrom) }],
    },
    policies: { overlap: 'SKIP' as const, catchupWindow: CATCH_UP },
  }
}

const isMissing = (error: unknown): boolean => error instanceof ScheduleNotFoundError

async function described(handle: ScheduleHandle): Promise<ScheduleDescription | null> {
  try {
    return await handle.describe()
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

function chooseSchedule({ schedule }: WorkspaceConfig, otherwise: Schedule | null): ChosenSchedule | null {
  if (schedule !== null) return { schedule, byDefault: false }
  return otherwise && { schedule: otherwise, byDefault: true }
}

function madeFromOf({ action }: ScheduleDescription): Partial<MadeFrom> {
  const [tick] = (action.args ?? []) as { madeFrom?: string }[]
  return JSON.parse(tick?.madeFrom ?? '{}') as Partial<MadeFrom>
}

/**
 * Creates, updates or deletes a workspace's schedule to match the configuration; a paused one stays paused. If none is configured,
 * `otherwise` applies. Without `otherwise`, an earlier default is kept, since somebody may rely on it; any other schedule is deleted.
 * @throws CONFIG_INVALID if the server refuses it
 */
export async function ensureSchedule(
  client: Client,
  ensuring: { config: Config; workspace: WorkspaceConfig; otherwise?: Schedule },
): Promise<Ensured> {
  const { config, workspace, otherwise = null } = ensuring
  const scheduleId = idOf(workspace.id)
  const handle = client.schedule.getHandle(scheduleId)
  const there = await described(handle)
  const wants = chooseSchedule(workspace, otherwise)
  if (wants === null) {
    if (there === null) return 'none'
    if (madeFromOf(there).byDefault) return 'kept'
    await handle.delete()
    return 'deleted'
  }
  const options = scheduleOptions(config, workspace, wants)
  if (JSON.stringify(there?.action.args) === JSON.stringify(options.action.args)) return 'unchanged'
  // The SDK makes a TypeError of the server's answer to a wrong cron expression.
  const refused = (error: Error) => {
    if (!(error instanceof TypeError)) throw error
    throw new ConvohouseError('CONFIG_INVALID', {
      what: `Temporal refuses the \`schedule\` of workspace ${workspace.id}: ${error.message}.`,
      hint: 'Correct it; `cron` has five fields, such as 0 * * * * or 30 6 * * mon-fri.',
    })
  }
  if (there === null) await client.schedule.create({ scheduleId, ...options }).catch(refused)
  else await handle.update(({ state }) => ({ ...options, state })).catch(refused)
  return there === null ? 'created' : 'updated'
}

/**
 * Deletes this installation's schedules (same queue prefix) of workspaces that are no longer configured, since their
 * ticks would reach workers that do not know the workspace.
 * @returns the ids of those workspaces
 */
export async function deleteUnconfigured(client: Client, { temporal, workspaces }: Config): Promise<string[]> {
  const configured = new Set(workspaces.map(({ id }) => idOf(id)))
  const deleted: string[] = []
  for await (const { scheduleId } of client.schedule.list()) {
    if (!scheduleId.startsWith(idOf('')) || configured.has(scheduleId)) continue
    const handle = client.schedule.getHandle(scheduleId)
    const there = await described(handle)
    if (there === null || madeFromOf(there).queues !== temporal.queues) continue
    await handle.delete()
    deleted.push(scheduleId.slice(idOf('').length))
  }
  return deleted
}

export interface ScheduleState {
  workspaceId: string
  /** Null if there is no schedule. */
  schedule: {
    /** Interval or cron as stored on the server, where somebody may have edited it. */
    when: ({ everyMs: number } | { cron: string })[]
    paused: boolean
    /** Reason for the pause. */
    note: string | null
    next: Date | null
    lastTick: Tick | null
    ticks: number
  } | null
}

function whenOf(there: ScheduleDescription): NonNullable<ScheduleState['schedule']>['when'] {
  const { intervals = [], calendars = [] } = there.spec
  // The server stores cron expressions as calendar specs; the original text is in the tick's argument.
  const { cron = 'calendar' } = calendars.length > 0 ? madeFromOf(there) : {}
  return [...intervals.map(({ every }) => ({ everyMs: every })), ...(calendars.length > 0 ? [{ cron }] : [])]
}

function lastTickOf({ info }: ScheduleDescription): Tick | null {
  const last = info.recentActions.at(-1)
  if (!last) return null
  const { workflowId, firstExecutionRunId } = last.action.workflow
  return { takenAt: last.takenAt, workflowId, runId: firstExecutionRunId }
}

export async function scheduleState(client: Client, workspaceId: string): Promise<ScheduleState> {
  const there = await described(client.schedule.getHandle(idOf(workspaceId)))
  if (there === null) return { workspaceId, schedule: null }
  const { state, info } = there
  const { paused, note = '' } = state
  const [next = null] = info.nextActionTimes
  return {
    workspaceId,
    schedule: {
      when: whenOf(there),
      paused,
      note: paused && note !== '' ? note : null,
      next,
      lastTick: lastTickOf(there),
      ticks: info.numActionsTaken,
    },
  }
}

export type Change = 'pause' | 'resume' | 'trigger' | 'delete'

/** @throws SCHEDULE_MISSING */
export async function changeSchedule(client: Client, workspaceId: string, change: Change): Promise<void> {
  const handle = client.schedule.getHandle(idOf(workspaceId))
  const work: Record<Change, () => Promise<void>> = {
    pause: () => handle.pause('by `convohouse schedule pause`'),
    resume: () => handle.unpause('by `convohouse schedule resume`'),
    trigger: () => handle.trigger(),
    delete: () => handle.delete(),
  }
  try {
    await work[change]()
  } catch (error) {
    if (!isMissing(error)) throw error
    throw missing(workspaceId, error)
  }
}

const missing = (workspaceId: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('SCHEDULE_MISSING', {
    what: `Workspace ${workspaceId} has no schedule.`,
    hint: 'Give it one in the configuration (schedule: { every: 15m }), then run `convohouse schedule ensure`.',
    cause,
  })

/** @throws SCHEDULE_MISSING */
export async function expectSchedule(client: Client, workspaceId: string): Promise<void> {
  if ((await described(client.schedule.getHandle(idOf(workspaceId)))) === null) throw missing(workspaceId)
}
