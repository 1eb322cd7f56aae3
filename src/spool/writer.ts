// Appends a workspace's events with group commit: events that arrive while a sync runs share the next sync.
//
// One segment is written at a time and sealed when it is old or large enough. The next one is opened ahead, because making its name durable
// takes as long as several syncs. After a failed append a segment is truncated to its synced length and sealed.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, link, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { compactTimestamp } from '../core/time.ts'
import { makeFolder, syncFolder } from '../files/durable.ts'
import { type SpoolEvent, WriteBuffer } from './event-line.ts'
import { type SpoolFolders, segmentName } from './folders.ts'

interface WriterOptions {
  folders: SpoolFolders
  now: () => number
  /** A segment is sealed at this age of its first event, or at this size. */
  sealAfterMs: number
  sealAfterBytes: number
  onCommit?: (commit: Commit) => void
}

/** One sync: the events that it made durable, and the duration of write and sync. */
export interface Commit {
  events: number
  bytes: number
  ms: number
}

const TOUCH_MS = 5_000
/** Number of attempts of one append. A live writer is mistaken for dead at most once, unless the file system loses names. */
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

  /** Resolves when the event is durable. @throws HOME_UNUSABLE: do not acknowledge the event, even if it is on the disk */
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

  /** Number of open segments. */
  get open(): number {
    return (this.segment ? 1 : 0) + (this.next ? 1 : 0) + this.sealings.size
  }

  /** Waits for pending appends and seals all segments. */
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
    // Events of the same turn of the event loop share the first sync.
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

  /** Starts the segment's timer and opens the next segment, after the first commit. */
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

  /** Seals the current segment in the background. */
  private roll(): Promise<void> {
    clearTimeout(this.sealTimer)
    this.sealTimer = undefined
    this.due = false
    const { segment } = this
    this.segment = null
    return segment ? this.background(segment.seal()) : Promise.resolve()
  }

  /** A segment that cannot be sealed is left to the drainer, which treats it as abandoned. */
  private background(work: Promise<void>): Promise<void> {
    const sealing: Promise<void> = work.catch(() => {}).finally(() => this.sealings.delete(sealing))
    this.sealings.add(sealing)
    return sealing
  }

  /** Truncates the segment and seals it. A segment that cannot be truncated stays open; the drainer recovers its complete lines. */
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

/** Limits the duration of one sync, because all of its events wait for it. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024

/** Events that share a sync and its outcome. */
class Batch {
  readonly events: SpoolEvent[]
  /** Resolves when all events are durable. */
  readonly done: Promise<void>
  stored!: () => void
  failed!: (error: unknown) => void
  private bytes: number

  constructor(first: SpoolEvent) {
    this.events = [first]
    this.bytes = first.payload.length
    this.done = new Promise((stored, failed) => {
      this.stored = stored
      this.failed = failed
    })
  }

  /** Adds an event; false if the batch is full. */
  take(event: SpoolEvent): boolean {
    if (this.bytes + event.payload.length > MAX_BATCH_BYTES) return false
    this.bytes += event.payload.length
    this.events.push(event)
    return true
  }
}

// An open segment: lines are appended and synced; then it is sealed and never changed again.
//
// The drainer may mistake a stalled writer's segment for an abandoned one. The drainer moves a file away before reading it, and the writer
// checks after each sync that its file still exists, before it acknowledges anything. So either the drainer reads the appended events, or the
// writer finds its file gone and appends them to another segment. This does not depend on clocks.

/** The file was moved away from its writer: the events must be appended to another segment. */
class Fenced extends Error {}

class Segment {
  /** Number of synced bytes. */
  bytes = 0
  private readonly name: string
  private readonly folders: SpoolFolders
  private readonly handle: FileHandle

  private constructor(name: string, folders: SpoolFolders, handle: FileHandle) {
    this.name = name
    this.folders = folders
    this.handle = handle
  }

  /** Creates a segment and makes its name durable. */
  static async create(name: string, folders: SpoolFolders): Promise<Segment> {
    const handle = await open(join(folders.open, name), 'wx', 0o600)
    try {
      await syncFolder(folders.open)
    } catch (error) {
      await handle.close()
      throw error
    }
    return new Segment(name, folders, handle)
  }

  private get file(): string {
    return join(this.folders.open, this.name)
  }

  /** Appends and syncs. When it resolves, the events may be acknowledged. @throws Fenced, or the error of the file system */
  async append(events: readonly SpoolEvent[], buffer: WriteBuffer): Promise<void> {
    const lines = buffer.linesOf(events, this.bytes)
    const { bytesWritten } = await this.handle.write(lines)
    // A disk that fills up makes a short write without an error.
    if (bytesWritten !== lines.length) throw Object.assign(new Error('short write'), { code: 'ENOSPC' })
    await this.handle.datasync()
    if (!existsSync(this.file)) throw new Fenced()
    this.bytes += lines.length
  }

  /** Signals that the writer is alive. */
  async touch(nowMs: number): Promise<void> {
    await this.handle.utimes(nowMs / 1_000, nowMs / 1_000)
  }

  /** Removes a half-written append. The segment must not be appended to again: after a failed sync its content is uncertain. */
  async cutBack(): Promise<void> {
    await this.handle.truncate(this.bytes)
    await this.handle.datasync()
  }

  /** Closes the segment without sealing it. */
  async leave(): Promise<void> {
    await this.handle.close().catch(() => {})
  }

  /**
   * Moves the segment to `sealed`, or removes it if it has no event. Segments are not compressed here: the fastest gzip
   * takes 55 µs of CPU for an event of 8 KB, half of the cost of receiving it. The drainer compresses later, to 22 %.
   */
  async seal(): Promise<void> {
    await this.handle.close()
    try {
      if (this.bytes > 0) await this.linkSealed()
      await unlink(this.file)
      await syncFolder(this.folders.open)
    } catch (error) {
      // The drainer moved it away, and seals it.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }

  private async linkSealed(): Promise<void> {
    await link(this.file, join(this.folders.sealed, this.name)).catch(error => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
    await syncFolder(this.folders.sealed)
  }
}
