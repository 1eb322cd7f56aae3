// An open segment: lines are appended and synced; then it is sealed and never changed again.
//
// The drainer may mistake a stalled writer's segment for an abandoned one. The drainer moves a file away before reading it, and the writer
// checks after each sync that its file still exists, before it acknowledges anything. So either the drainer reads the appended events, or the
// writer finds its file gone and appends them to another segment. This does not depend on clocks.
import { existsSync } from 'node:fs'
import { type FileHandle, link, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../core/disk.ts'
import { syncFolder } from '../files/durable.ts'
import type { SpoolEvent, WriteBuffer } from './event-line.ts'
import type { SpoolFolders } from './folders.ts'

/** The file was moved away from its writer: the events must be appended to another segment. */
export class Fenced extends Error {}

export class Segment {
  /** Synced bytes. */
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
   * Moves the segment to `sealed`; removes it where it has no event. Segments are not compressed here: the fastest gzip takes 55 µs of CPU for
   * an event of 8 KB, half of the cost of receiving it. The drainer compresses later, to 22 %.
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
