// Shows the syncs of all workspaces while `up` runs, as `sync --on temporal` shows one.
import type { Client } from '@temporalio/client'
import type { SyncReport } from '../../../workflows/steps.ts'
import { systemClock } from '../../clock.ts'
import type { Config, WorkspaceConfig } from '../../config.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { clockTime } from '../../core/words.ts'
import { refusedFromTheStart } from '../../run/embedded.ts'
import type { Supervisor } from '../../run/supervision/supervisor.ts'
import { connectClient, type TemporalPlace } from '../../run/temporal/client/connection.ts'
import { scheduleState } from '../../run/temporal/client/schedules.ts'
import { type SyncListener, watchWorkspace } from '../../run/temporal/client/watch-workspace.ts'
import { errorOf } from '../../run/temporal/failure.ts'
import { type EventCounts, watchEvents } from '../../run/watch-events.ts'
import { displayOn } from '../sync/displays.ts'
import { showProgressOn } from '../sync/on-temporal.ts'
import type { Display } from '../sync/progress.ts'
import type { Board } from '../terminal/board.ts'
import { errorLines } from '../terminal/error-text.ts'
import { styleOf } from '../terminal/style.ts'

export interface FollowOptions {
  config: Config
  /** Supervises the process that applies events. */
  supervisor: Pick<Supervisor, 'counts'>
  place: TemporalPlace
  /** For each workspace, the owner workflow that ended before `up` started, whose report is not shown. */
  over: ReadonlyMap<string, string | null>
  /** Null without a terminal. */
  board: Board | null
  /** Logs lines that concern no single workspace. */
  remark(...lines: string[]): void
  /** Called with the error if the vendor refuses every workspace, and has accepted no request since `up` started. */
  refused(error: ConvohouseError): void
  signal: AbortSignal
}

/** Shows when the next scheduled run starts; nothing if the schedule cannot be read. */
async function noteNext(client: Client, workspaceId: string, display: Display): Promise<void> {
  const state = await scheduleState(client, workspaceId).catch(() => null)
  if (!state?.schedule || state.schedule.paused || !state.schedule.next) return
  display.note(`next sync at ${clockTime(state.schedule.next.getTime(), systemClock.now())}`)
}

function listenerOf(
  client: Client,
  workspaceId: string,
  { board, config, remark, signal }: FollowOptions,
  ended: (end: SyncReport | ConvohouseError) => void,
): SyncListener & Pick<Display, 'end' | 'news'> {
  const display = displayOn(board, workspaceId, { several: config.workspaces.length > 1 })
  const next = () => void (signal.aborted || noteNext(client, workspaceId, display))
  return {
    begun: () => showProgressOn(display),
    reported(report) {
      display.report(report)
      ended(report)
      next()
    },
    failed(error) {
      display.end()
      remark(`${workspaceId}:`, ...errorLines(error, styleOf(process.stderr)))
      ended(error)
      next()
    },
    news: display.news,
    end: display.end,
  }
}

/** Shows the syncs until `signal` aborts. If following them fails, the error is logged; the syncs continue. */
export async function followSyncs(on: FollowOptions): Promise<void> {
  try {
    await followAll(on)
  } catch (error) {
    if (!on.signal.aborted) on.remark(...errorLines(error, styleOf(process.stderr)))
  }
}

async function followAll(on: FollowOptions): Promise<void> {
  const { config, supervisor, place, over, signal } = on
  const client = await connectClient(place)
  const refusals = new Set<string>()
  const followOne = async (workspace: WorkspaceConfig): Promise<void> => {
    const workspaceId = workspace.id
    const isRefused = refusedFromTheStart()
    const listener = listenerOf(client, workspaceId, on, end => {
      if (isRefused(end)) refusals.add(workspaceId)
      else refusals.delete(workspaceId)
      if (refusals.size === config.workspaces.length)
        on.refused(end instanceof ConvohouseError ? end : errorOf(end.failures[0]!))
    })
    const onCounts = (counts: EventCounts) => listener.news({ kind: 'events', ...counts })
    const drained = { counts: () => supervisor.counts(workspaceId) }
    const watching = watchEvents({ drained, home: config.home, workspace, onCounts })
    try {
      await watchWorkspace({ client, workspaceId, listener, signal, over: over.get(workspaceId) ?? null })
    } finally {
      watching.end()
      listener.end()
    }
  }
  try {
    await Promise.all(config.workspaces.map(followOne))
  } finally {
    await client.connection.close()
  }
}
