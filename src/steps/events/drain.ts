// Drains the spool: applies sealed segments to the tables, then moves them into the archive. A segment that a kill left applied but not
// archived is applied again, which changes nothing.
import { relative } from 'node:path'
import type { DrainOutcome, IngestSteps } from '../../../workflows/steps.ts'
import { diskErrorText } from '../../core/disk.ts'
import { SECOND } from '../../core/time.ts'
import { archivedEvents, archivedFiles, archiveSegments, packArchive } from '../../spool/archive.ts'
import { damagedFiles, damageIn, keepDamaged } from '../../spool/damaged.ts'
import type { DrainFailure } from '../../spool/drain-failure.ts'
import type { SpoolEvent } from '../../spool/event-line.ts'
import { spoolRoot } from '../../spool/folders.ts'
import { identified } from '../../spool/identity.ts'
import { readSegment } from '../../spool/read-segment.ts'
import { sealAbandoned, sealedSegments } from '../../spool/segments.ts'
import { applyEvents, type EventContext, type FiledEvent } from '../../warehouse/events/apply.ts'
import { recordDamage } from '../../warehouse/load/findings.ts'
import { DrainFailures } from './drain-failures.ts'

export interface DrainContext extends EventContext {
  home: string
}

/** Segments per drain. */
const SEGMENTS = 100
/** Limits of one transaction. */
const BATCH = { count: 1_000, bytes: 4 * 1024 * 1024 }

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
    if (batch.length >= BATCH.count || bytes >= BATCH.bytes) await flush()
  }
  await flush()
  return applied
}

const inSpool = ({ home }: DrainContext, file: string): string => relative(spoolRoot(home), file)

const withFile = (draining: DrainContext, file: string) => {
  const name = inSpool(draining, file)
  return (event: SpoolEvent): FiledEvent => ({ ...identified(event), file: name })
}

/** The events of a segment. @throws HOME_UNUSABLE where it cannot be read at all */
async function eventsIn(draining: DrainContext, segment: string): Promise<FiledEvent[]> {
  const { events, torn, damaged } = await readSegment(segment)
  if (torn.length + damaged.length > 0) await keepDamaged(segment)
  return events.map(withFile(draining, segment))
}

async function* eventsOf(draining: DrainContext, segments: readonly string[]): AsyncGenerator<FiledEvent> {
  for (const segment of segments) yield* await eventsIn(draining, segment)
}

/** Records damaged segments that are not in `recorded`, and adds them to it. @throws HOME_UNUSABLE */
async function recordDamaged(draining: DrainContext, recorded: Set<string>): Promise<void> {
  const { home, workspaceId } = draining
  for (const file of (await damagedFiles(home, workspaceId)).filter(file => !recorded.has(file))) {
    await recordDamage(draining, { ...(await damageIn(file)), file: inSpool(draining, file) })
    recorded.add(file)
  }
}

/** State left by earlier drains. A failing segment does not block the others. */
interface Leftover {
  /** Segments that are applied and not archived. */
  applied: Set<string>
  /** The applied segments whose lines are in the archive. */
  copied: Set<string>
  /** Segments that could not be read. */
  unreadable: Set<string>
  /** The archive may have a past day that is not compressed. */
  toPack: boolean
}

const noLeftover = (): Leftover => ({
  applied: new Set(),
  copied: new Set(),
  unreadable: new Set(),
  toPack: false,
})

interface DrainOptions {
  /** The machine's clock, comparable with file times. */
  machineMs: number
  left: Leftover
  /** Retry segments that failed before. */
  retries: boolean
  /** Called when there are events to apply. */
  found?: () => void
}

/** The outcome, with errors that did not stop the drain. */
type Drained = DrainOutcome & { failures: unknown[] }

/** Yields the events of up to SEGMENTS readable segments; unreadable ones are recorded in `left` and `failures`. */
async function* readable(
  draining: DrainContext,
  segments: string[],
  { left, failures, read }: { left: Leftover; failures: unknown[]; read: string[] },
): AsyncGenerator<FiledEvent> {
  while (read.length < SEGMENTS && segments.length > 0) {
    const segment = segments.shift()!
    try {
      yield* await eventsIn(draining, segment)
      left.unreadable.delete(segment)
      read.push(segment)
    } catch (error) {
      left.unreadable.add(segment)
      failures.push(error)
    }
  }
}

async function archive(draining: DrainContext, { sealed, left }: { sealed: string[]; left: Leftover }): Promise<void> {
  const { home, workspaceId } = draining
  const nowMs = draining.now()
  const segments = sealed.filter(segment => left.applied.has(segment))
  const { copied } = left
  if (await archiveSegments(home, workspaceId, { segments, nowMs, copied })) left.toPack = true
  left.applied.clear()
  if (left.toPack) await packArchive(home, workspaceId, nowMs)
  left.toPack = false
}

/** Applies sealed segments, oldest first. @throws the warehouse's error, when no event can be applied */
async function drainSpool(draining: DrainContext, options: DrainOptions): Promise<Drained> {
  const { home, workspaceId } = draining
  const { machineMs, left, retries, found = () => {} } = options
  const failures: unknown[] = []
  const failed = (error: unknown) => void failures.push(error)
  if (retries) await sealAbandoned(home, workspaceId, machineMs).catch(failed)
  const sealed = await sealedSegments(home, workspaceId)
  const waiting = sealed.filter(name => !left.applied.has(name) && (retries || !left.unreadable.has(name)))
  if (waiting.length > 0) found()
  const read: string[] = []
  let taken = 0
  const counted = async function* () {
    for await (const event of readable(draining, waiting, { left, failures, read })) {
      taken += 1
      yield event
    }
  }
  const applied = await applyAll(draining, counted())
  for (const segment of read) left.applied.add(segment)
  if (retries) await archive(draining, { sealed, left }).catch(failed)
  return { events: applied, taken, waiting: waiting.length, failures }
}

export interface SpoolSteps extends IngestSteps {
  failing(): DrainFailure | null
  /** True where events wait or have arrived within the last seconds: loads should keep their transactions short. */
  eventsCome(): boolean
  /** Events read from the spool so far, and the new ones among them. */
  counts(): { taken: number; applied: number }
}

/** `eventsCome` returns false once no event has arrived for this long. */
const COMING_MS = 10 * SECOND

/** The drain steps; concurrent calls run one after the other. */
export function spoolSteps(draining: DrainContext): SpoolSteps {
  let last: Promise<unknown> = Promise.resolve()
  let seenMs = Number.NEGATIVE_INFINITY
  const found = () => {
    seenMs = performance.now()
  }
  const damaged = new Set<string>()
  const counts = { taken: 0, applied: 0 }
  const left = noLeftover()
  const failures = new DrainFailures(draining)
  const drainOnce = async (retries: boolean): Promise<Drained> => {
    // File times follow the machine's clock, not the run's.
    const drained = await drainSpool(draining, { machineMs: Date.now(), left, retries, found })
    counts.taken += drained.taken
    counts.applied += drained.events
    if (drained.taken > 0 || retries)
      await recordDamaged(draining, damaged).catch(error => drained.failures.push(error))
    return drained
  }
  const drain = async (): Promise<DrainOutcome> => {
    const retries = failures.isDue
    try {
      const { failures: met, ...outcome } = await drainOnce(retries)
      if (met.length > 0) await failures.failed(met[0])
      else if (retries) await failures.succeeded()
      return outcome
    } catch (error) {
      await failures.failed(error)
      throw error
    }
  }
  return {
    drain() {
      const drained = last.then(drain)
      last = drained.catch(() => {})
      return drained
    },
    failing: () => failures.current,
    counts: () => counts,
    eventsCome: () => performance.now() - seenMs < COMING_MS,
  }
}

/** A damaged archive file: its name in the spool, and the error. */
export interface DamagedArchive {
  file: string
  why: string
}

/**
 * Applies every event of the spool, including the archive, for a replay. From a damaged archive file, applies the readable events.
 * @throws HOME_UNUSABLE where waiting events cannot be read: they are in no table yet
 */
export async function applySpool(draining: DrainContext): Promise<{ applied: number; damaged: DamagedArchive[] }> {
  const { home, workspaceId } = draining
  const damaged: DamagedArchive[] = []
  let applied = 0
  for (const file of await archivedFiles(home, workspaceId)) {
    const name = withFile(draining, file)
    const events = async function* () {
      const onDamage = (error: unknown) => damaged.push({ file: inSpool(draining, file), why: diskErrorText(error) })
      for await (const event of archivedEvents(file, onDamage)) yield name(event)
    }
    applied += await applyAll(draining, events())
  }
  applied += await applyAll(draining, eventsOf(draining, await sealedSegments(home, workspaceId)))
  await recordDamaged(draining, new Set())
  return { applied, damaged }
}
