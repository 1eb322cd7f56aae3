// Drains the spools in this process while it holds the warehouse.
import { type DrainFailing, ingest } from '../../workflows/ingest.ts'
import { spoolOf } from '../app/spool.ts'
import type { App } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { hasSpool } from '../spool/folders.ts'

interface IngestOptions {
  config: Config
  app: App
  clock?: Clock
  /** Called once when draining begins to fail, and with null when a retry has succeeded. */
  failing: (workspaceId: string, failure: DrainFailing) => void
}

interface RunningIngest {
  /** Drains the remaining events and ends. */
  end(): Promise<void>
}

function drainOne(
  { app, config, clock = systemClock, failing }: IngestOptions,
  workspace: Config['workspaces'][number],
  stopping: AbortSignal,
): Promise<void> {
  const { id: workspaceId } = workspace
  const host = {
    now: clock.now,
    cancelled: () => stopping.aborted,
    sleepUntil: (untilMs: number) => clock.sleepUntil(untilMs, stopping),
  }
  const steps = spoolOf({ app, home: config.home, workspace, now: clock.now })
  return ingest(steps, host, { workspaceId, failing: failure => failing(workspaceId, failure) })
}

/** Starts draining the spool of each workspace that has webhooks or a spool. */
export function startIngest(options: IngestOptions): RunningIngest {
  const { config } = options
  const ending = new AbortController()
  const draining = config.workspaces
    .filter(({ id, readWebhookSecrets }) => readWebhookSecrets !== null || hasSpool(config.home, id))
    .map(workspace => drainOne(options, workspace, ending.signal))
  return {
    async end() {
      ending.abort()
      await Promise.all(draining)
    },
  }
}
