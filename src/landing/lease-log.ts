// The lease log records every granted lease, every request's outcome, and every lease's end. After a kill the
// governor's state is rebuilt from it: a lease without an end counts as fully spent until its hour has passed.

import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { type LeaseEntry, momentOf } from '../core/governor/lease-entries.ts'
import { PERIOD_DAYS } from '../core/planning/estimate.ts'
import { compactTimestamp, DAY, HOUR, MINUTE } from '../core/time.ts'
import { makeFolder, removeFiles, syncFolder, writeOnce } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import { consistently } from './consistent-reads.ts'
import { withReserve } from './disk-reserve.ts'
import { hoursOf, isLive, isMerged, type LeaseLine, leaseFilesIn, readLines, textOf } from './lease-log-files.ts'

export interface LeaseLog {
  /** Resolves when the entry is durable. Entries appended while a sync runs share the next one. @throws HOME_UNUSABLE */
  append(entry: LeaseEntry): Promise<void>
  /**
   * Returns all writers' entries of the last `hourMs`, ordered by time, with the newest requests that reported usage,
   * regardless of age: they determine the running billing period. A line that a kill cut off is skipped, since nobody
   * acted on it. Entries far ahead of `nowMs` are set aside, since the clock has been set back.
   * @throws HOME_UNUSABLE
   */
  recent(nowMs: number, hourMs: number): Promise<LeaseEntry[]>
  /** Joins files of past hours, once there are many. May run while other processes append and read. @throws HOME_UNUSABLE */
  merge(nowMs: number): Promise<void>
  close(): Promise<void>
}

/** Files further in the future are set aside. Clocks that share a time source differ by seconds, other clocks by minutes. */
const CLOCK_SKEW_MS = 15 * MINUTE

/** Number of usage reports that are read regardless of age: enough to show which of two billing periods is running. */
const USAGES_KEPT = 12

/** Entries that share a sync share a file, so a file may contain entries of the beginning of the next hour. */
const OVERLAP_MS = MINUTE

/** Opens the lease log of a workspace. `run` makes the file's name unique to this writer. */
export function openLeaseLog(options: { home: string; workspaceId: string; run: string }): LeaseLog {
  const root = join(options.home, 'landing')
  const folder = join(root, pathSegment(options.workspaceId), 'ledger')
  /** `torn`: the file may end in half a line, left by a kill or a full disk; the next entry begins on a new line. */
  let current: { hour: number; file: string; handle: FileHandle; torn: boolean } | null = null
  const writer = randomBytes(6).toString('hex')
  let written = 0
  let waiting: { line: string; atMs: number; done: () => void; failed: (error: unknown) => void }[] = []
  let flushing: Promise<void> | null = null

  async function openFile(hour: number): Promise<NonNullable<typeof current>> {
    if (current?.hour === hour) return current
    await closeFile()
    await makeFolder(folder)
    const file = join(folder, `${compactTimestamp(hour * HOUR)}-${options.run}.ndjson`)
    const handle = await open(file, 'a', 0o600)
    current = { hour, file, handle, torn: (await handle.stat()).size > 0 }
    await syncFolder(folder)
    return current
  }

  async function closeFile(): Promise<void> {
    const closing = current
    current = null
    await closing?.handle.close()
  }

  async function write(atMs: number, lines: string): Promise<void> {
    for (;;) {
      const { file, handle, torn } = await openFile(Math.floor(atMs / HOUR))
      current!.torn = true
      await handle.appendFile(torn ? `\n${lines}` : lines)
      await handle.datasync()
      current!.torn = false
      // A merge renames a file before it reads it. If the file was renamed in between, the lines may be too late for the merge.
      const [own, named] = await Promise.all([
        handle.stat({ bigint: true }),
        stat(file, { bigint: true }).catch(() => null),
      ])
      if (named?.ino === own.ino) return
      await closeFile()
    }
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      const lines = batch.map(entry => entry.line).join('')
      try {
        await withReserve(root, () => write(batch[0]!.atMs, lines))
        for (const entry of batch) entry.done()
      } catch (cause) {
        const error = cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
        for (const entry of batch) entry.failed(error)
      }
    }
    flushing = null
  }

  /** Renames a file whose hours are all in the future. From a merged file, lines of other hours stay in the log. */
  async function setAside(name: string, aheadMs: number): Promise<void> {
    if (hoursOf(name).firstMs <= aheadMs) {
      const lines = await readLines(join(folder, name))
      const { firstMs } = hoursOf(name)
      await writeMerged(
        folder,
        { firstMs, lastMs: Math.floor(aheadMs / HOUR) * HOUR },
        lines.filter(({ entry }) => momentOf(entry) <= aheadMs),
      )
    }
    await rename(join(folder, name), join(folder, `${name}.set-aside`)).catch(cause => {
      // Another process is also setting it aside.
      if (!hasCode(cause, 'ENOENT')) throw homeUnusable(join(folder, name), cause)
    })
  }

  async function recentIn(names: readonly string[], nowMs: number, hourMs: number): Promise<LeaseEntry[]> {
    const entries = new Map<string, LeaseEntry>()
    let newest: LeaseLine[] = []
    const sentMs = ({ entry }: LeaseLine) => momentOf(entry)
    // Counted back from the newest file, so that a workspace that was idle for longer than a period still finds its usage.
    const sinceMs = names.length > 0 ? hoursOf(names[0]!).lastMs - PERIOD_DAYS * DAY : 0
    for (const name of names) {
      const endMs = hoursOf(name).lastMs + HOUR + OVERLAP_MS
      const isOld = endMs < nowMs - hourMs
      // A vendor that reported no usage for a whole billing period never will: stop, or each call would read years of the log.
      if (isOld && endMs < sinceMs) break
      // Each writer has its own file for an hour, and any may contain the newest usage: stop only at a file that ends before it.
      if (isOld && newest.length === USAGES_KEPT && endMs < sentMs(newest.at(-1)!)) break
      const lines = await readLines(join(folder, name))
      if (!isOld) for (const { id, entry } of lines) entries.set(id, entry)
      const usages = lines.filter(({ entry }) => entry.kind === 'request' && entry.usage !== null)
      newest = [...newest, ...usages.reverse()].sort((a, b) => sentMs(b) - sentMs(a)).slice(0, USAGES_KEPT)
    }
    const isFresh = (entry: LeaseEntry) => momentOf(entry) >= nowMs - hourMs
    const fresh = [...entries.values()].filter(isFresh).sort((a, b) => momentOf(a) - momentOf(b))
    const older = newest.filter(({ entry }) => !isFresh(entry)).map(({ entry }) => entry)
    return [...older.reverse(), ...fresh]
  }

  return {
    append: entry =>
      new Promise((done, failed) => {
        waiting.push({ line: textOf({ id: `${writer}-${++written}`, entry }), atMs: momentOf(entry), done, failed })
        flushing ??= flush()
      }),
    recent: (nowMs, hourMs) =>
      consistently(folder, leaseFilesIn, async list => {
        const aheadMs = nowMs + CLOCK_SKEW_MS
        const isAhead = (name: string) => hoursOf(name).lastMs > aheadMs
        const ahead = (await leaseFilesIn(folder)).filter(isAhead)
        for (const name of ahead) await setAside(name, aheadMs)
        return recentIn(
          (await list(folder)).filter(name => !isAhead(name)),
          nowMs,
          hourMs,
        )
      }),
    merge: nowMs => mergeLeaseLog(folder, nowMs),
    async close() {
      await flushing
      await closeFile()
    },
  }
}

// Joins files of a lease log that are no longer written (lease-log-files.ts). A file is closed by renaming it, so its writer notices and
// writes the entry again. The merged file is durable before the first source is removed. After a kill, lines may exist twice, but count once.

const deflate = promisify(gzip)

/** Minimum number of files for a merge, because each merge rewrites the last small merged file. */
const LEAST_FILES = 8
/** After its hour ends, a writer may still append the answer to a request of that hour. */
const QUIET_MS = 2 * HOUR
/** Merged files below this size are merged again with later ones. */
const SMALL_BYTES = 64 * 1024
/** Size limit for the lines of one merged file, before compression. */
const MOST_MERGED_BYTES = 4 * 1024 * 1024

/** Joins files of past hours, once there are enough of them. @throws HOME_UNUSABLE */
async function mergeLeaseLog(folder: string, nowMs: number): Promise<void> {
  try {
    const names = await leaseFilesIn(folder)
    const left = names.filter(name => isLive(name) && hoursOf(name).lastMs + HOUR + QUIET_MS < nowMs)
    const isKilledMerge = names.some(name => !isLive(name) && !isMerged(name))
    if (left.length < LEAST_FILES && !isKilledMerge) return
    for (const name of left)
      await rename(join(folder, name), join(folder, `${name}.${randomBytes(6).toString('hex')}.closed`))
    // Oldest first, so that a merged file covers few hours.
    let group: Group = { names: [], lines: new Map(), bytes: 0 }
    for (const name of (await leaseFilesIn(folder)).filter(name => !isLive(name)).reverse()) {
      if (isMerged(name) && (await stat(join(folder, name))).size >= SMALL_BYTES) continue
      group.names.push(name)
      for (const line of await readLines(join(folder, name))) {
        group.lines.set(line.id, line)
        group.bytes += textOf(line).length
      }
      if (group.bytes < MOST_MERGED_BYTES) continue
      await replaceFiles(folder, group)
      group = { names: [], lines: new Map(), bytes: 0 }
    }
    await replaceFiles(folder, group)
  } catch (cause) {
    // Another process is merging the same files.
    if (hasCode(cause, 'ENOENT')) return
    throw cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
  }
}

interface Group {
  names: string[]
  lines: Map<string, LeaseLine>
  /** Total length of the lines. */
  bytes: number
}

async function replaceFiles(folder: string, { names, lines }: Group): Promise<void> {
  if (names.length === 0) return
  const hours = names.map(hoursOf)
  const firstMs = Math.min(...hours.map(hour => hour.firstMs))
  const lastMs = Math.max(...hours.map(hour => hour.lastMs))
  await writeMerged(folder, { firstMs, lastMs }, [...lines.values()])
  await removeFiles(names.map(name => join(folder, name)))
}

/** Writes lines of these hours to a merged file, durably. @throws HOME_UNUSABLE */
async function writeMerged(
  folder: string,
  { firstMs, lastMs }: { firstMs: number; lastMs: number },
  lines: readonly LeaseLine[],
): Promise<void> {
  if (lines.length === 0) return
  const name = `${compactTimestamp(firstMs)}-${compactTimestamp(lastMs)}.${randomBytes(6).toString('hex')}.ndjson.gz`
  await writeOnce(join(folder, name), [await deflate(lines.map(textOf).join(''))])
}
