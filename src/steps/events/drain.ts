// Drains the spool: appends sealed segments to the archive, which gives each event an address, applies the events to the
// tables, and removes the segments. If a kill left a segment archived or applied, it is applied again, which changes nothing.

import { relative } from 'node:path'
import type { DrainOutcome, IngestSteps } from '../../../workflows/steps.ts'
import { diskErrorCode, diskErrorText } from '../../core/disk.ts'
import { ConvohouseError } from '../../core/errors.ts'
import type { Forgotten } from '../../core/identifiers.ts'
import { DAY, MINUTE, SECOND } from '../../core/time.ts'
import { readForgotten, recordBegunErased, rememberBegun } from '../../landing/tombstones.ts'
import {
  archivedBefore,
  archivedFiles,
  archiveName,
  archiveSegments,
  type EventAddress,
  packArchive,
  removeSegments,
} from '../../spool/archive.ts'
import { clearDrainFailure, type DrainFailure, writeDrainFailure } from '../../spool/drain-failure.ts'
import { eraseEvents, eraseSealed } from '../../spool/erase-events.ts'
import type { SpoolEvent } from '../../spool/event-line.ts'
import { spoolRoot } from '../../spool/folders.ts'
import { archivedEvents } from '../../spool/read-archive.ts'
import { damagedFiles, damageIn, keepDamaged, readSegment, type SegmentReading } from '../../spool/read-segment.ts'
import { sealAbandoned, sealedSegments } from '../../spool/segments.ts'
import { applyEvents, type EventContext } from '../../warehouse/events/apply.ts'
import type { SpooledEvent } from '../../warehouse/events/incoming.ts'
import { recordDamage } from '../../warehouse/load/findings.ts'
import { eraseRecords } from '../../warehouse/maintenance/erase-records.ts'
import { forgottenRecords } from '../../warehouse/maintenance/forgotten-records.ts'
import { isErasedEvent, judgeEvent } from '../forgetting/forgotten-events.ts'

export interface DrainContext extends EventContext {
  home: string
}

/** Segments per drain. */
const SEGMENTS = 100
/** Limits of one transaction. A replay uses larger ones, since nobody waits for its rows: most statements cost the same. */
const BATCH = { count: 1_000, bytes: 4 * 1024 * 1024 }
const REPLAY_BATCH = { count: 5_000, bytes: 32 * 1024 * 1024 }
/** Maximum number of bytes that are archived with one sync, unless a single segment is larger. */
const ARCHIVED_BYTES = 8 * 1024 * 1024

/** Applies events in batches. */
async function applyAll(
  context: EventContext,
  events: AsyncIterable<SpooledEvent> | Iterable<SpooledEvent>,
  limits = BATCH,
): Promise<number> {
  let applied = 0
  let batch: SpooledEvent[] = []
  let bytes = 0
  const flush = async () => {
    applied += (await applyEvents(context, batch)).applied
    batch = []
    bytes = 0
  }
  for await (const event of events) {
    batch.push(event)
    bytes += event.payload.length
    if (batch.length >= limits.count || bytes >= limits.bytes) await flush()
  }
  await flush()
  return applied
}

const inSpool = ({ home }: DrainContext, file: string): string => relative(spoolRoot(home), file)

const addressed = (event: SpoolEvent, { file, offset }: EventAddress): SpooledEvent => ({
  ...event,
  file,
  offset,
})

/** A sealed segment with its content. */
type Read = SegmentReading & { segment: string; bytes: Buffer }

/** Drops the events of forgotten people, and remembers the conversations that they have begun. @returns the number of events */
async function dropForgotten({ home, workspaceId, now }: DrainContext, segment: string, forgotten: Forgotten) {
  const begun: { agentId: string; id: string }[] = []
  const dropped = await eraseSealed(segment, event => {
    if (event === null) return false
    const judged = judgeEvent(forgotten, event)
    if (judged.begun) begun.push(judged.begun)
    return judged.isForgotten
  })
  if (begun.length > 0) await rememberBegun(home, workspaceId, begun, now())
  return dropped
}

/** Erases what arrived of such conversations before anything named the person. Only the drainer may rewrite archives. */
async function eraseBegun(draining: DrainContext, forgotten: Forgotten): Promise<void> {
  const { home, workspaceId, writer, now } = draining
  const records = await forgottenRecords(writer, workspaceId, forgotten)
  if (records.length > 0) await eraseRecords(writer, { workspaceId, records, nowMs: now() })
  await eraseEvents({ home, workspaceId, dryRun: false }, event => isErasedEvent(forgotten, event))
  await recordBegunErased(home, workspaceId, now())
}

/** Reads a segment, once it has lost the events of forgotten people. @throws HOME_UNUSABLE if it cannot be read at all */
async function readSealed(
  draining: DrainContext,
  segment: string,
  { forgotten, archived }: { forgotten: Forgotten; archived: Map<string, EventAddress> | null },
): Promise<Read> {
  const isChanged = !forgotten.isEmpty && (await dropForgotten(draining, segment, forgotten)) > 0
  // Its lines are elsewhere in the archive than in the segment now, so they are appended again, which is harmless.
  if (isChanged) archived?.delete(segment)
  const reading = await readSegment(segment)
  if (reading.torn.length + reading.damaged.length > 0) await keepDamaged(segment)
  return { ...reading, segment }
}

/** Archives segments that are not in `archived`, and adds them to it. @returns their events, with addresses. @throws HOME_UNUSABLE */
async function archiveRead(
  { home, workspaceId, now }: DrainContext,
  reads: readonly Read[],
  archived: Map<string, EventAddress>,
): Promise<SpooledEvent[]> {
  const segments = reads.filter(({ segment }) => !archived.has(segment))
  if (segments.length > 0) {
    const added = await archiveSegments(home, workspaceId, { segments, nowMs: now() })
    for (const [segment, address] of added) archived.set(segment, address)
  }
  return reads.flatMap(({ segment, events }) => {
    const { file, offset } = archived.get(segment)!
    return events.map(event => addressed(event, { file, offset: offset + event.at }))
  })
}

/** Records damaged segments that are not in `recorded`, and adds them to it. @throws HOME_UNUSABLE */
async function recordDamaged(draining: DrainContext, recorded: Set<string>): Promise<void> {
  const { home, workspaceId } = draining
  for (const file of (await damagedFiles(home, workspaceId)).filter(file => !recorded.has(file))) {
    await recordDamage(draining, { ...(await damageIn(file)), file: inSpool(draining, file) })
    recorded.add(file)
  }
}

/** State of earlier drains. A failing segment does not block the others. */
interface Leftover {
  /** Segments whose lines are in the archive. Null before the first drain, which finds those that a killed process had archived. */
  archived: Map<string, EventAddress> | null
  /** Segments that are applied but not removed. */
  applied: Set<string>
  /** Segments that could not be read. */
  unreadable: Set<string>
  /** The day of the last drain. The first drain of a later day compresses the archive's past days. */
  day: number | null
}

const noLeftover = (): Leftover => ({ archived: null, applied: new Set(), unreadable: new Set(), day: null })

interface DrainOptions {
  /** Time of the machine's clock, comparable with file times. */
  machineMs: number
  left: Leftover
  /** True to retry segments that failed before. */
  retries: boolean
  /** Called when there are events to apply. */
  found?: () => void
}

/** The outcome, with errors that did not stop the drain. */
type Drained = DrainOutcome & { failures: unknown[] }

/** Reads the next segments, up to ARCHIVED_BYTES; unreadable ones are recorded in `left` and `failures`. */
async function readNext(
  draining: DrainContext,
  segments: string[],
  { left, failures, most, forgotten }: { left: Leftover; failures: unknown[]; most: number; forgotten: Forgotten },
): Promise<Read[]> {
  const reads: Read[] = []
  let bytes = 0
  while (reads.length < most && segments.length > 0 && bytes < ARCHIVED_BYTES) {
    const segment = segments.shift()!
    try {
      const read = await readSealed(draining, segment, { forgotten, archived: left.archived })
      left.unreadable.delete(segment)
      reads.push(read)
      bytes += read.bytes.length
    } catch (error) {
      left.unreadable.add(segment)
      failures.push(error)
    }
  }
  return reads
}

/** Removes applied segments, even if the drain failed: on a full disk this frees space for the archive. */
async function removeApplied(left: Leftover): Promise<void> {
  const segments = [...left.applied].sort()
  await removeSegments(segments)
  for (const segment of segments) {
    left.applied.delete(segment)
    left.archived?.delete(segment)
  }
}

/** Compresses past days, at the first drain of a process and of each day. */
async function pack({ home, workspaceId, now }: DrainContext, left: Leftover): Promise<void> {
  const nowMs = now()
  const day = Math.floor(nowMs / DAY)
  if (left.day === day) return
  await packArchive(home, workspaceId, nowMs)
  left.day = day
}

/** Applies sealed segments, oldest first. @throws the error of the warehouse or of the archive, when no event can be applied */
async function drainSpool(draining: DrainContext, options: DrainOptions): Promise<Drained> {
  const { home, workspaceId } = draining
  const { machineMs, left, retries, found = () => {} } = options
  const failures: unknown[] = []
  const failed = (error: unknown) => void failures.push(error)
  if (retries) await sealAbandoned(home, workspaceId, machineMs).catch(failed)
  const sealed = await sealedSegments(home, workspaceId)
  left.archived ??= await archivedBefore(home, workspaceId, sealed)
  const waiting = sealed.filter(name => !left.applied.has(name) && (retries || !left.unreadable.has(name)))
  if (waiting.length > 0) found()
  const forgotten = await readForgotten(home)()
  if (retries && forgotten.begun.has(workspaceId)) await eraseBegun(draining, forgotten).catch(failed)
  let [segments, taken, applied] = [0, 0, 0]
  try {
    while (segments < SEGMENTS && waiting.length > 0) {
      const reads = await readNext(draining, waiting, { left, failures, most: SEGMENTS - segments, forgotten })
      const events = await archiveRead(draining, reads, left.archived)
      applied += await applyAll(draining, events)
      for (const { segment } of reads) left.applied.add(segment)
      segments += reads.length
      taken += events.length
    }
  } finally {
    if (retries || segments > 0) await removeApplied(left).catch(failed)
  }
  if (retries && sealed.length > 0) await pack(draining, left).catch(failed)
  return { events: applied, taken, waiting: waiting.length, failures }
}

export interface SpoolSteps extends IngestSteps {
  failing(): DrainFailure | null
  /** True if events wait or have arrived within the last seconds, so that loads should keep their transactions short. */
  eventsCome(): boolean
  /** Counts the events read from the spool so far, and the new ones among them. */
  counts(): { taken: number; applied: number }
}

/** `eventsCome` returns false once no event has arrived for this long. */
const COMING_MS = 10 * SECOND

/** Returns the drain steps; concurrent calls run one after the other. */
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
 * Applies every event of the spool, for a replay. From a damaged archive file, applies the readable events. Archives the sealed
 * segments and leaves them in place, since the replaced warehouse may lack their events, and is kept if the replay fails.
 * @throws HOME_UNUSABLE if waiting events cannot be read: no table has them yet
 */
export async function applySpool(draining: DrainContext): Promise<{ applied: number; damaged: DamagedArchive[] }> {
  const { home, workspaceId } = draining
  const damaged: DamagedArchive[] = []
  const sealed = await sealedSegments(home, workspaceId)
  const archived = await archivedBefore(home, workspaceId, sealed)
  const forgotten = await readForgotten(home)()
  // Batches span files: a day with few events would need a separate transaction.
  const events = async function* () {
    for (const path of await archivedFiles(home, workspaceId)) {
      const file = archiveName(home, path)
      const onDamage = (error: unknown) => damaged.push({ file: inSpool(draining, path), why: diskErrorText(error) })
      for await (const event of archivedEvents(path, onDamage)) yield addressed(event, { file, offset: event.offset })
    }
  }
  let applied = await applyAll(draining, events(), REPLAY_BATCH)
  for (const segment of sealed)
    applied += await applyAll(
      draining,
      await archiveRead(draining, [await readSealed(draining, segment, { forgotten, archived })], archived),
    )
  await recordDamaged(draining, new Set())
  return { applied, damaged }
}

// The current failure to drain a workspace's spool. It is stored for `status`, and retried with exponential backoff.

/** Retries at least every minute, so that freed disk space is used soon. */
const RETRY = { firstMs: SECOND, longestMs: MINUTE }

/** Returns the wait after `attempts` failed attempts, ms. */
export const retryAfterMs = (attempts: number): number =>
  Math.min(RETRY.longestMs, RETRY.firstMs * 2 ** Math.min(attempts - 1, 30))

const HINT = 'Free disk space or make the data folder writable; no restart is needed.'

const hintOf = ({ hint, cause }: ConvohouseError): string | null =>
  diskErrorCode(cause) === null ? (hint ?? null) : HINT

const describe = (error: unknown): Pick<DrainFailure, 'code' | 'what' | 'hint'> =>
  error instanceof ConvohouseError
    ? { code: error.code, what: error.message, hint: hintOf(error) }
    : { code: 'UNEXPECTED', what: error instanceof Error ? error.message : String(error), hint: null }

export class DrainFailures {
  current: DrainFailure | null = null
  /** An earlier process may have left a record of its failure. */
  private mayBeKept = true
  private readonly home: string
  private readonly workspaceId: string
  private readonly now: () => number

  constructor({ home, workspaceId, now }: { home: string; workspaceId: string; now: () => number }) {
    this.home = home
    this.workspaceId = workspaceId
    this.now = now
  }

  /** True if nothing fails or the retry is due. */
  get isDue(): boolean {
    return this.current === null || this.now() >= this.current.nextMs
  }

  async failed(error: unknown): Promise<void> {
    const nowMs = this.now()
    const { sinceMs, attempts } = this.current ?? { sinceMs: nowMs, attempts: 0 }
    const nextMs = nowMs + retryAfterMs(attempts + 1)
    this.current = { ...describe(error), sinceMs, attempts: attempts + 1, nextMs, pid: process.pid }
    this.mayBeKept = true
    await writeDrainFailure(this.home, this.workspaceId, this.current)
  }

  async succeeded(): Promise<void> {
    this.current = null
    if (!this.mayBeKept) return
    this.mayBeKept = false
    await clearDrainFailure(this.home, this.workspaceId)
  }
}
