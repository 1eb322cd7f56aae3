// Joins poll logs that are no longer written (poll-log.ts).
import { randomBytes } from 'node:crypto'
import { rename, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { compactTimestamp, HOUR } from '../core/time.ts'
import { namesIn, removeFiles, writeOnce } from '../files/durable.ts'
import type { PageHead } from './page.ts'
import { dayOf, isMerged, LOG, logsIn, readAddresses, readLog } from './poll-lines.ts'

const deflate = promisify(gzip)

/** A log that was not written for this long is closed. Its process may still write: it notices, and begins another. */
const QUIET_MS = HOUR

/** Merged logs below this size are merged again with later ones: a workspace with few agents then has one file a month. */
const SMALL_BYTES = 256 * 1024
/** Lines of one merged log, before compression. Its lines are in memory while it is written or read. */
const MOST_MERGED_BYTES = 32 * 1024 * 1024

/** True for a log of a past day, and for one that a process has left. The modification time is by this machine's clock. */
export async function isQuiet(file: string, nowMs: number): Promise<boolean> {
  if (basename(file) < compactTimestamp(nowMs).slice(0, 8)) return true
  return (await stat(file)).mtimeMs < Date.now() - QUIET_MS
}

/** Closes logs of a folder: from now on nobody writes to them. */
async function close(folder: string, isToClose: (name: string) => Promise<boolean>): Promise<void> {
  for (const name of (await namesIn(folder)).filter(name => LOG.test(name))) {
    if (!(await isToClose(name))) continue
    const closed = `${name.slice(0, -'.ndjson'.length)}.${randomBytes(6).toString('hex')}.closed`
    await rename(join(folder, name), join(folder, closed))
  }
}

export async function mergeLogs(
  folder: string,
  isToClose: (name: string) => Promise<boolean>,
  except: ReadonlySet<string>,
): Promise<void> {
  try {
    await close(folder, isToClose)
    let group: Group = { files: [], lines: new Map(), bytes: 0 }
    for (const file of await sourcesIn(folder, except)) {
      group.files.push(file)
      for (const [address, line] of await readLog(file)) {
        group.bytes += line.length
        if (!except.has(address) && isEarlier(line, group.lines.get(address))) group.lines.set(address, line)
      }
      if (group.bytes < MOST_MERGED_BYTES) continue
      await replaceLogs(folder, group)
      group = { files: [], lines: new Map(), bytes: 0 }
    }
    await replaceLogs(folder, group)
  } catch (cause) {
    // Another process merges the same logs, and has removed one that was to be read.
    if (hasCode(cause, 'ENOENT')) return
    throw cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
  }
}

interface Group {
  files: string[]
  lines: Map<string, string>
  /** Length of the lines. */
  bytes: number
}

/** The closed logs of a folder that are to be merged: none where that would only copy one merged log. */
async function sourcesIn(folder: string, except: ReadonlySet<string>): Promise<string[]> {
  const sources: string[] = []
  let isNeeded = false
  for (const file of await logsIn(folder)) {
    if (LOG.test(basename(file))) continue
    const isTouched = except.size > 0 && (await readAddresses(file)).some(address => except.has(address))
    if (!isTouched && isMerged(basename(file)) && (await stat(file)).size >= SMALL_BYTES) continue
    sources.push(file)
    isNeeded ||= isTouched || !isMerged(basename(file))
  }
  return isNeeded || sources.length > 1 ? sources : []
}

const receivedMs = (line: string): number => (JSON.parse(line) as { head: PageHead }).head.receivedAtMs

const isEarlier = (line: string, than: string | undefined): boolean =>
  than === undefined || receivedMs(line) < receivedMs(than)

/** Writes the lines to one merged log, durably, and then removes their files. A kill in between leaves lines twice, which changes nothing. */
async function replaceLogs(folder: string, { files, lines }: Group): Promise<void> {
  if (lines.size > 0) {
    const days = [...lines.keys()].map(dayOf).sort()
    const name = `${days[0]}-${days.at(-1)}.${randomBytes(6).toString('hex')}.ndjson.gz`
    const index = await deflate(`${JSON.stringify({ _polls: [...lines.keys()] })}\n`)
    await writeOnce(join(folder, name), [index, await deflate(`${[...lines.values()].join('\n')}\n`)])
  }
  await removeFiles(files)
}
