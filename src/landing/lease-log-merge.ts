// Joins files of a lease log that are no longer written (lease-log-files.ts). A file is closed by renaming it, so its writer notices and writes
// the entry again; the merged file is durable before the first source is removed. A kill leaves lines twice, which count once.
import { randomBytes } from 'node:crypto'
import { rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { compactTimestamp, HOUR } from '../core/time.ts'
import { removeFiles, writeOnce } from '../files/durable.ts'
import { hoursOf, isLive, isMerged, type LeaseLine, leaseFilesIn, readLines, textOf } from './lease-log-files.ts'

const deflate = promisify(gzip)

/** A merge waits for this many files. Each one rewrites the last small merged file. */
const LEAST_FILES = 8
/** After the end of its hour a writer may still append the answer to a request of that hour. */
const QUIET_MS = 2 * HOUR
/** Merged files below this size are merged again with later ones. */
const SMALL_BYTES = 64 * 1024
/** Lines of one merged file, before compression. */
const MOST_MERGED_BYTES = 4 * 1024 * 1024

/** Joins files whose hours are over, once there are enough of them. @throws HOME_UNUSABLE */
export async function mergeLeaseLog(folder: string, nowMs: number): Promise<void> {
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
    // Another process merges the same files.
    if (hasCode(cause, 'ENOENT')) return
    throw cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
  }
}

interface Group {
  names: string[]
  lines: Map<string, LeaseLine>
  /** Length of the lines. */
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
export async function writeMerged(
  folder: string,
  { firstMs, lastMs }: { firstMs: number; lastMs: number },
  lines: readonly LeaseLine[],
): Promise<void> {
  if (lines.length === 0) return
  const name = `${compactTimestamp(firstMs)}-${compactTimestamp(lastMs)}.${randomBytes(6).toString('hex')}.ndjson.gz`
  await writeOnce(join(folder, name), [await deflate(lines.map(textOf).join(''))])
}
