// Draining the spool in this process, beside whatever else it does with the warehouse.
import { ingest } from '../../workflows/ingest.ts'
import { spoolOf } from '../app/spool.ts'
import type { House } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { SECOND } from '../core/time.ts'
import { hasSpool } from '../spool/folders.ts'

export interface IngestOptions {
  config: Config
  house: House
  clock?: Clock
  /** Told of what the disk refuses; it is tried again. */
  failed: (error: unknown) => void
}

export interface Ingesting {
  /** Drains what is there, once more, and ends. */
  end(): Promise<void>
}

/** After a failure it is tried again so much later. */
const AFTER_FAILURE_MS = 10 * SECOND

async function drainOne(
  { house, config, clock = systemClock, failed }: IngestOptions,
  workspace: Config['workspaces'][number],
  stopping: AbortSignal,
): Promise<void> {
  const steps = spoolOf({ house, home: config.home, workspace, now: clock.now })
  const host = {
    now: clock.now,
    cancelled: () => stopping.aborted,
    sleepUntil: (untilMs: number) => clock.sleepUntil(untilMs, stopping),
  }
  for (;;) {
    try {
      await ingest(steps, host, { workspaceId: workspace.id })
      return
    } catch (error) {
      failed(error)
      if (stopping.aborted) return
      await clock.sleepUntil(clock.now() + AFTER_FAILURE_MS, stopping).catch(() => {})
    }
  }
}

/** Begins to drain the spools of the configured workspaces that have one, or will have. */
export function ingestBeside(options: IngestOptions): Ingesting {
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
