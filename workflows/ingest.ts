// Draining the spool of a workspace, for as long as its host lives: what is there at once, then again after a pause. Plain
// functions over (steps, host), as syncing is.
import type { Host } from './host.ts'
import type { DrainOutcome, IngestSteps } from './steps.ts'

/** Between two looks into the spool: an event is to be seen in SQL within seconds. */
export const LOOK_EVERY_MS = 300

/** Drains what is sealed now. */
export async function drainAll(steps: IngestSteps, workspaceId: string): Promise<number> {
  let events = 0
  for (;;) {
    const drained: DrainOutcome = await steps.drain({ workspaceId })
    events += drained.events
    if (drained.waiting === 0) return events
  }
}

/** Drains until the host is cancelled, and then once more. @throws what the disk refuses */
export async function ingest(
  steps: IngestSteps,
  host: Pick<Host, 'now' | 'sleepUntil' | 'cancelled'>,
  { workspaceId, told }: { workspaceId: string; told?: (events: number) => void },
): Promise<void> {
  for (;;) {
    const isLast = host.cancelled()
    const events = await drainAll(steps, workspaceId)
    if (events > 0) told?.(events)
    if (isLast) return
    await host.sleepUntil(host.now() + LOOK_EVERY_MS, new Promise(() => {})).catch(() => {})
  }
}
