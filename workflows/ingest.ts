// Ingesting webhook events: drains the spool of a workspace until its host is cancelled. Failures are retried without a
// limit, because the receiver keeps acknowledging events. Plain functions over (steps, host), as in sync.ts.
import type { Host } from './host.ts'
import type { DrainOutcome, IngestSteps } from './steps.ts'

/** Interval at which the spool is checked: an event should be visible in SQL within seconds. */
const POLL_MS = 300

export type DrainFailing = ReturnType<IngestSteps['failing']>

interface IngestOptions {
  workspaceId: string
  /** Called with the number of events that were applied. */
  applied?: (events: number) => void
  /** Called once for each failure, and with null when the failure is over. */
  failing?: (failure: DrainFailing) => void
}

/** Drains until the host is cancelled, and then once more. The steps remember the failure and the time of the next attempt. */
export async function ingest(
  steps: IngestSteps,
  host: Pick<Host, 'now' | 'sleepUntil' | 'cancelled'>,
  { workspaceId, applied, failing = () => {} }: IngestOptions,
): Promise<void> {
  let known: string | null = null
  for (;;) {
    const isLast = host.cancelled()
    const pollMs = host.now() + POLL_MS
    const isDrained = await drainAll(steps, workspaceId, applied).then(
      () => true,
      () => false,
    )
    const failure = steps.failing()
    if ((failure?.what ?? null) !== known) failing(failure)
    known = failure?.what ?? null
    if (isLast) return
    const nextMs = isDrained ? pollMs : Math.max(pollMs, failure?.nextMs ?? pollMs)
    await host.sleepUntil(nextMs, new Promise(() => {})).catch(() => {})
  }
}

/** Drains the segments that are sealed now. @throws errors of the disk */
export async function drainAll(
  steps: Pick<IngestSteps, 'drain'>,
  workspaceId: string,
  applied: (events: number) => void = () => {},
): Promise<void> {
  let drained: DrainOutcome
  do {
    drained = await steps.drain({ workspaceId })
    if (drained.events > 0) applied(drained.events)
  } while (drained.waiting > 0)
}
