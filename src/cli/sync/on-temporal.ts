// `convohouse sync --on temporal`: requests a sync from each workspace's owner workflow and follows all of them. Ctrl-C only detaches.
import type { Client } from '@temporalio/client'
import { warehouseQueue } from '../../../workflows/activities.ts'
import { systemClock } from '../../clock.ts'
import type { Config, WorkspaceConfig } from '../../config.ts'
import { ConvohouseError, EXIT_CODES } from '../../core/errors.ts'
import type { Origin } from '../../core/run-record.ts'
import { awaitWorker } from '../../run/temporal/client/await-worker.ts'
import { abortable, connectClient } from '../../run/temporal/client/connection.ts'
import { follow, type SyncView } from '../../run/temporal/client/follow.ts'
import { askForSync } from '../../run/temporal/client/owner.ts'
import type { LookUp, NamedConversation } from '../flags/ids-file.ts'

import type { SyncFlags } from '../flags/sync-flags.ts'
import { syncRequest } from '../flags/sync-request.ts'
import { exitCodeOf } from '../terminal/error-text.ts'
import { noWorkerText } from '../terminal/notes.ts'
import { stopOnSignals } from '../terminal/signals.ts'
import { chooseDisplays, type Displays } from './displays.ts'
import type { Display } from './progress.ts'
import { exitCodeOfAll, exitCodeOfReport } from './report.ts'

const PAUSED = 'paused: no requests until `convohouse resume`'

/** Returns a listener that turns polled states into the display calls that an embedded sync makes. */
export function showProgressOn(display: Display): (seen: SyncView) => void {
  let planned = false
  let paused = false
  let heldUntilMs: number | null | undefined
  let before = { pages: 0, conversations: 0, sessions: 0 }
  const failures = new Set<string>()
  return ({ progress, plan, budget }) => {
    if (progress.paused !== paused) display.note(progress.paused ? PAUSED : 'resumed')
    paused = progress.paused
    if (progress.phase === 'planning' && heldUntilMs !== (progress.heldUntilMs ?? null)) {
      heldUntilMs = progress.heldUntilMs ?? null
      display.news({ kind: 'planning', heldUntilMs })
    }
    if (plan === null || budget === null) return
    if (!planned) display.planned({ plan, governor: budget })
    planned = true
    const { pages, conversations, sessions, windowsLeft, waiting } = progress
    for (let page = before.pages; page < pages; page++) {
      const first = page === before.pages
      const records = first ? conversations - before.conversations : 0
      display.page({ agentId: '', records, billed: first ? sessions - before.sessions : 0 })
    }
    before = { pages, conversations, sessions }
    display.news({ kind: 'governor', governor: budget, windowsLeft })
    if (waiting) display.news({ kind: 'waiting', ...waiting })
    if (progress.finishing) display.news({ kind: 'finishing', ...progress.finishing })
    for (const failure of progress.failures) {
      const key = JSON.stringify(failure)
      if (!failures.has(key)) display.news({ kind: 'failure', failure, agentId: null })
      failures.add(key)
    }
  }
}

interface OnTemporal {
  flags: SyncFlags
  config: Config
  workspaces: readonly WorkspaceConfig[]
  named: readonly NamedConversation[] | null
  /** Origin of the sync; default: `sync`. */
  origin?: Origin
}

/** A worker holds the warehouse, so this process cannot look up agents: each id needs its agent. */
const noLookUp: LookUp = async () => []

/** @throws INTERRUPTED if the signal came before a worker answered */
async function ask(
  client: Client,
  { signal, ...asking }: Parameters<typeof askForSync>[1] & { signal: AbortSignal },
): ReturnType<typeof askForSync> {
  try {
    return await abortable(client, signal, () => askForSync(client, asking))
  } catch (cause) {
    if (!signal.aborted) throw cause
    throw new ConvohouseError('INTERRUPTED', {
      what: `Stopped before a worker answered for workspace ${asking.request.workspaceId}; the requested sync may still start once a worker runs.`,
      hint: 'To cancel it, run `convohouse cancel`.',
      cause,
    })
  }
}

async function syncOne(
  client: Client,
  on: OnTemporal,
  workspace: WorkspaceConfig,
  { displays, signal }: { displays: Displays; signal: AbortSignal },
): Promise<number> {
  const { flags, config, named, origin = 'sync' } = on
  const nowMs = systemClock.now()
  const asked = await syncRequest({ flags, workspace, named, lookUp: noLookUp, nowMs })
  const consented = flags.yes === true || flags.maxSessions !== undefined
  const request = { ...asked, workspaceId: workspace.id, origin, consented }
  const display = displays.of(workspace.id)
  const { queues } = config.temporal
  const queue = warehouseQueue(queues)
  const answered = awaitWorker({ client, queue, unanswered: absence => display.note(noWorkerText(absence, queue)) })
  try {
    const owner = await answered(() => ask(client, { queues, request, signal }))
    if (owner.joined) display.note('an identical sync is already running; following it')
    const onProgress = showProgressOn(display)
    const following = { client, workspaceId: workspace.id, signal, onProgress, waits: display.waits, answered }
    const report = await follow({ ...following, asked: owner })
    if (report) display.report(report)
    else display.note('Detached. The sync continues on Temporal; `convohouse cancel` ends it.')
    return report ? exitCodeOfReport(report) : EXIT_CODES.ok
  } finally {
    display.end()
  }
}

/** Requests all workspaces' syncs at once; returns the exit code. @throws TEMPORAL_UNREACHABLE */
export async function syncOnTemporal(on: OnTemporal): Promise<number> {
  const client = await connectClient()
  const displays = await chooseDisplays({ json: on.flags.json === true, several: on.workspaces.length > 1 })
  const stop = stopOnSignals()
  try {
    const sync = (workspace: WorkspaceConfig) =>
      syncOne(client, on, workspace, { displays, signal: stop.stopping }).catch(error => {
        displays.failed(workspace.id, error)
        return exitCodeOf(error)
      })
    return exitCodeOfAll(await Promise.all(on.workspaces.map(sync)))
  } finally {
    stop.release()
    await client.connection.close()
  }
}
