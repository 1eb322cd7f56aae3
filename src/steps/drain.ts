// Draining the spool: sealed segments into the tables, then into the archive. What was applied and not archived, because of a
// kill, is found again, and changes nothing.
import { relative } from 'node:path'
import type { DrainOutcome, IngestSteps } from '../../workflows/steps.ts'
import { SECOND } from '../core/time.ts'
import { archivedEvents, archivedFiles, archiveSegments, packArchive } from '../spool/archive.ts'
import { damagedFiles, damageIn, keepDamaged } from '../spool/damaged.ts'
import type { SpoolEvent } from '../spool/event-line.ts'
import { spoolRoot } from '../spool/folders.ts'
import { identified } from '../spool/identity.ts'
import { readSegment } from '../spool/read-segment.ts'
import { sealAbandoned, sealedSegments } from '../spool/segments.ts'
import { applyEvents, type EventContext, type FiledEvent } from '../warehouse/events/apply.ts'
import { tellDamage } from '../warehouse/events/damage.ts'

export interface Draining extends EventContext {
  home: string
}

/** Segments of one draining; the rest is the next one's. */
const SEGMENTS = 100
/** Events of one transaction: as many, and as many bytes of them. */
const A_BATCH = { count: 1_000, bytes: 4 * 1024 * 1024 }

/** Applies events in batches. */
export async function applyAll(
  context: EventContext,
  events: AsyncIterable<FiledEvent> | Iterable<FiledEvent>,
): Promise<number> {
  let applied = 0
  let batch: FiledEvent[] = []
  let bytes = 0
  const flush = async () => {
    applied += (await applyEvents(context, batch)).applied
    batch = []
    bytes = 0
  }
  for await (const event of events) {
    batch.push(event)
    bytes += event.payload.length
    if (batch.length >= A_BATCH.count || bytes >= A_BATCH.bytes) await flush()
  }
  await flush()
  return applied
}

const inSpool = ({ home }: Draining, file: string): string => relative(spoolRoot(home), file)

const filed = (draining: Draining, file: string) => {
  const name = inSpool(draining, file)
  return (event: SpoolEvent): FiledEvent => ({ ...identified(event), file: name })
}

async function* eventsOf(draining: Draining, segments: readonly string[]): AsyncGenerator<FiledEvent> {
  for (const segment of segments) {
    const { events, torn, damaged } = await readSegment(segment)
    if (torn.length + damaged.length > 0) await keepDamaged(segment)
    const name = filed(draining, segment)
    for (const event of events) yield name(event)
  }
}

/** Tells of segments that have been damaged, but for those of `told`, which it adds to. @throws HOME_UNUSABLE */
async function tellDamaged(draining: Draining, told: Set<string>): Promise<void> {
  const { home, workspaceId } = draining
  for (const file of (await damagedFiles(home, workspaceId)).filter(file => !told.has(file))) {
    await tellDamage(draining, { ...(await damageIn(file)), file: inSpool(draining, file) })
    told.add(file)
  }
}

/** Applies what is sealed, oldest first; calls `found` where there is some. `machineMs` is the machine's time, as the times of files are. @throws HOME_UNUSABLE */
export async function drainSpool(
  draining: Draining,
  machineMs: number,
  found: () => void = () => {},
): Promise<DrainOutcome> {
  const { home, workspaceId } = draining
  await sealAbandoned(home, workspaceId, machineMs)
  const sealed = await sealedSegments(home, workspaceId)
  if (sealed.length > 0) found()
  const segments = sealed.slice(0, SEGMENTS)
  let taken = 0
  const counted = async function* () {
    for await (const event of eventsOf(draining, segments)) {
      taken += 1
      yield event
    }
  }
  const applied = await applyAll(draining, counted())
  const isNewDay = await archiveSegments(home, workspaceId, { segments, nowMs: draining.now() })
  if (isNewDay) await packArchive(home, workspaceId, draining.now())
  return { events: applied, taken, waiting: sealed.length - segments.length }
}

export interface SpoolSteps extends IngestSteps {
  /** Events have come in the last seconds, or wait to be applied: whoever holds the warehouse's writer should not for long. */
  eventsCome(): boolean
  /** Events that were read from the spool so far, and those of them that were new. */
  counts(): { taken: number; applied: number }
}

/** After so long without an event none is expected soon. */
const COMING_MS = 10 * SECOND

/** The steps of draining, one piece after the other. */
export function spoolSteps(draining: Draining): SpoolSteps {
  let last: Promise<unknown> = Promise.resolve()
  let seenMs = Number.NEGATIVE_INFINITY
  const seen = () => {
    seenMs = performance.now()
  }
  const damaged = new Set<string>()
  const counts = { taken: 0, applied: 0 }
  const drain = async (): Promise<DrainOutcome> => {
    // The machine's time: no run sets the times of files.
    const outcome = await drainSpool(draining, Date.now(), seen)
    counts.taken += outcome.taken
    counts.applied += outcome.events
    await tellDamaged(draining, damaged)
    return outcome
  }
  return {
    drain() {
      const drained = last.then(drain)
      last = drained.catch(() => {})
      return drained
    },
    counts: () => counts,
    eventsCome: () => performance.now() - seenMs < COMING_MS,
  }
}

/** Applies all that the spool has ever taken in, as a rebuilt warehouse needs it. @throws HOME_UNUSABLE */
export async function applySpool(draining: Draining): Promise<number> {
  const { home, workspaceId } = draining
  let applied = 0
  for (const file of await archivedFiles(home, workspaceId)) {
    const name = filed(draining, file)
    const events = async function* () {
      for await (const event of archivedEvents(file)) yield name(event)
    }
    applied += await applyAll(draining, events())
  }
  applied += await applyAll(draining, eventsOf(draining, await sealedSegments(home, workspaceId)))
  await tellDamaged(draining, new Set())
  return applied
}
