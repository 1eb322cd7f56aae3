// Appends a workspace's events, by group commit: events that come while a sync runs share the next one.
//
// One segment is written; it is sealed when it is old or large enough. The next one is opened ahead: to make its name durable
// takes as long as some syncs. A segment to which an append has failed is cut back to what was synced, and sealed.
import { randomBytes } from 'node:crypto'
import { homeUnusable } from '../core/disk.ts'
import { compactTimestamp } from '../core/time.ts'
import { makeFolder } from '../files/durable.ts'
import { Batch } from './batch.ts'
import type { SpoolEvent } from './event-line.ts'
import { type SpoolFolders, segmentName } from './folders.ts'
import { Fenced, Segment } from './segment.ts'
import { WriteBuffer } from './write-buffer.ts'

export interface WriterOptions {
  folders: SpoolFolders
  now: () => number
  /** A segment is sealed when its first event is as old, or it is as large. */
  sealAfterMs: number
  sealAfterBytes: number
  onCommit?: (commit: Commit) => void
}

/** One sync: what it made durable, and how long the write and the sync took. */
export interface Commit {
  events: number
  bytes: number
  ms: number
}

const TOUCH_MS = 5_000
/** A writer is thought dead and comes back: once. More than that is a file system that loses names. */
const FENCED_TRIES = 3

export class SpoolWriter {
  private readonly options: WriterOptions
  private readonly id = randomBytes(4).toString('hex')
  private count = 0
  private ready: Promise<void> | null = null
  private segment: Segment | null = null
  private next: Promise<Segment | null> | null = null
  private waiting: Batch[] = []
  private flushing: Promise<void> | null = null
  private sealTimer: NodeJS.Timeout | undefined
  private due = false
  private readonly sealings = new Set<Promise<void>>()
  private readonly touching: NodeJS.Timeout
  private readonly buffer = new WriteBuffer()

  constructor(options: WriterOptions) {
    this.options = options
    this.touching = setInterval(() => this.touch(), TOUCH_MS).unref()
  }

  /** Resolves when the event is on the disk. @throws HOME_UNUSABLE: then it may be on the disk, and is not acknowledged */
  append(event: SpoolEvent): Promise<void> {
    const batch = this.batchFor(event)
    this.flushing ??= this.flush()
    return batch.done
  }

  private batchFor(event: SpoolEvent): Batch {
    const last = this.waiting.at(-1)
    if (last?.take(event)) return last
    const batch = new Batch(event)
    this.waiting.push(batch)
    return batch
  }

  /** Segments that are open. */
  get open(): number {
    return (this.segment ? 1 : 0) + (this.next ? 1 : 0) + this.sealings.size
  }

  /** Lets what is under way become durable, and seals. */
  async close(): Promise<void> {
    await this.flushing
    clearInterval(this.touching)
    const next = this.next
    await this.roll()
    const spare = await next
    if (spare) await spare.seal().catch(() => {})
    await Promise.all(this.sealings)
  }

  private async flush(): Promise<void> {
    // Those of the same turn of the event loop share the first sync, too.
    await Promise.resolve()
    for (let batch = this.waiting.shift(); batch; batch = this.waiting.shift()) await this.commit(batch)
    this.flushing = null
  }

  private async commit(batch: Batch): Promise<void> {
    try {
      await this.store(batch.events)
      batch.stored()
    } catch (cause) {
      batch.failed(homeUnusable(this.options.folders.open, cause))
    }
    if (this.due || (this.segment && this.segment.bytes >= this.options.sealAfterBytes)) this.roll()
  }

  private async store(events: readonly SpoolEvent[]): Promise<void> {
    for (let tried = 1; ; tried++) {
      const segment = await this.current()
      const [bytes, begunMs] = [segment.bytes, performance.now()]
      try {
        await segment.append(events, this.buffer)
      } catch (error) {
        this.segment = null
        await this.giveUp(segment)
        if (error instanceof Fenced && tried < FENCED_TRIES) continue
        throw error
      }
      this.options.onCommit?.({
        events: events.length,
        bytes: segment.bytes - bytes,
        ms: performance.now() - begunMs,
      })
      return this.begun()
    }
  }

  /** After the first commit to a segment its time runs, and the next one is opened. */
  private begun(): void {
    this.sealTimer ??= setTimeout(() => this.sealSoon(), this.options.sealAfterMs)
    this.next ??= this.create().catch(() => null)
  }

  private sealSoon(): void {
    this.due = true
    if (this.flushing) return
    this.buffer.release()
    this.roll()
  }

  /** Seals the segment beside what goes on. */
  private roll(): Promise<void> {
    clearTimeout(this.sealTimer)
    this.sealTimer = undefined
    this.due = false
    const { segment } = this
    this.segment = null
    return segment ? this.background(segment.seal()) : Promise.resolve()
  }

  /** What cannot be sealed is taken for abandoned by whoever drains. */
  private background(work: Promise<void>): Promise<void> {
    const sealing: Promise<void> = work.catch(() => {}).finally(() => this.sealings.delete(sealing))
    this.sealings.add(sealing)
    return sealing
  }

  /** Where it cannot be cut back, half a line may be at its end: it stays open, and its whole lines are found there. */
  private async giveUp(segment: Segment): Promise<void> {
    clearTimeout(this.sealTimer)
    this.sealTimer = undefined
    const isCut = await segment.cutBack().then(
      () => true,
      () => false,
    )
    await (isCut ? this.background(segment.seal()) : segment.leave())
  }

  private async current(): Promise<Segment> {
    this.segment ??= await this.spare()
    return this.segment
  }

  private async spare(): Promise<Segment> {
    const next = await this.next
    this.next = null
    return next ?? this.create()
  }

  private async create(): Promise<Segment> {
    const { folders, now } = this.options
    this.ready ??= this.prepare()
    await this.ready
    const name = segmentName({ opened: compactTimestamp(now()), writer: this.id, number: ++this.count })
    return Segment.create(name, folders)
  }

  private async prepare(): Promise<void> {
    const { open, sealed } = this.options.folders
    try {
      await makeFolder(open)
      await makeFolder(sealed)
    } catch (error) {
      this.ready = null
      throw error
    }
  }

  private async touch(): Promise<void> {
    const open = [this.segment, await this.next]
    for (const segment of open) await segment?.touch(Date.now()).catch(() => {})
  }
}
