// A segment while it is open: lines are appended and synced, then it is sealed, and never changed again.
//
// Whoever drains may take a segment for abandoned whose writer only stood still. It moves the file away before it reads it, and the
// writer looks for its file after each sync, before anything is acknowledged. So either the reader finds what was appended, or
// the writer finds its file gone and appends elsewhere. No clock decides it.
import { existsSync } from 'node:fs'
import { type FileHandle, link, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../core/disk.ts'
import { syncFolder } from '../files/durable.ts'
import type { SpoolEvent } from './event-line.ts'
import type { SpoolFolders } from './folders.ts'
import type { WriteBuffer } from './write-buffer.ts'

/** Thrown where the file was moved away under its writer: what was appended is to be appended elsewhere. */
export class Fenced extends Error {}

export class Segment {
  /** What is synced. */
  bytes = 0
  private readonly name: string
  private readonly folders: SpoolFolders
  private readonly handle: FileHandle

  private constructor(name: string, folders: SpoolFolders, handle: FileHandle) {
    this.name = name
    this.folders = folders
    this.handle = handle
  }

  /** A new segment, whose name is durable. */
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

  /** Appends and syncs: when it resolves, the events may be acknowledged. @throws Fenced, or what the disk refuses */
  async append(events: readonly SpoolEvent[], buffer: WriteBuffer): Promise<void> {
    const lines = buffer.linesOf(events, this.bytes)
    const { bytesWritten } = await this.handle.write(lines)
    // A disk that fills up cuts it short without an error.
    if (bytesWritten !== lines.length) throw Object.assign(new Error('cut short'), { code: 'ENOSPC' })
    await this.handle.datasync()
    if (!existsSync(this.file)) throw new Fenced()
    this.bytes += lines.length
  }

  /** Says that its writer lives. */
  async touch(nowMs: number): Promise<void> {
    await this.handle.utimes(nowMs / 1_000, nowMs / 1_000)
  }

  /** Takes away what an append has left half written. It is never appended to again: after a failed sync nothing is certain. */
  async cutBack(): Promise<void> {
    await this.handle.truncate(this.bytes)
    await this.handle.datasync()
  }

  /** Closes it as it is. */
  async leave(): Promise<void> {
    await this.handle.close().catch(() => {})
  }

  /**
   * Closes it for good; one without an event is removed. It is not compressed: gzip at its quickest takes 55 µs of the processor an
   * event of 8 KB, half of what receiving it takes, and who has loaded it can do that at leisure (22 % are left).
   */
  async seal(): Promise<void> {
    await this.handle.close()
    try {
      if (this.bytes > 0) await this.linkSealed()
      await unlink(this.file)
      await syncFolder(this.folders.open)
    } catch (error) {
      // Moved away: whoever did that seals it.
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
