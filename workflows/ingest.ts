// Draining the spool of a workspace, for as long as its host lives: what is there at once, then again after a pause. What fails is tried
// again for as long, since the receiver goes on acknowledging. Plain functions over (steps, host), as syncing is.
import type { Host } from './host.ts'
import type { DrainOutcome, IngestSteps } from './steps.ts'

/** Between two looks into the spool: an event is to be seen in SQL within seconds. */
export const LOOK_EVERY_MS = 300

/** Drains what is sealed now; `told` is called with the events of each step. @throws what the disk refuses */
export async function drainAll(
  steps: Pick<IngestSteps, 'drain'>,
  workspaceId: string,
  told: (events: number) => void = () => {},
): Promise<void> {
  let drained: DrainOutcome
  do {
    drained = await steps.drain({ workspaceId })
    if (drained.events > 0) told(drained.events)
  } while (drained.waiting > 0)
}

export type DrainFailing = ReturnType<IngestSteps['failing']>

export interface IngestOptions {
  workspaceId: string
  /** Events that were applied. */
  told?: (events: number) => void
  /** Told once of each failure, and with null when it is over. */
  failing?: (failure: DrainFailing) => void
}

/** Drains until the host is cancelled, and then once more. The steps keep what fails, and say when it is tried again. */
export async function ingest(
  steps: IngestSteps,
  host: Pick<Host, 'now' | 'sleepUntil' | 'cancelled'>,
  { workspaceId, told, failing = () => {} }: IngestOptions,
): Promise<void> {
  let known: string | null = null
  for (;;) {
    const isLast = host.cancelled()
    const lookMs = host.now() + LOOK_EVERY_MS
    const isDrained = await drainAll(steps, workspaceId, told).then(
      () => true,
      () => false,
    )
    const failure = steps.failing()
    if ((failure?.what ?? null) !== known) failing(failure)
    known = failure?.what ?? null
    if (isLast) return
    const nextMs = isDrained ? lookMs : Math.max(lookMs, failure?.nextMs ?? lookMs)
    await host.sleepUntil(nextMs, new Promise(() => {})).catch(() => {})
  }
}
