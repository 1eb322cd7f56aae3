// The lease log as files: append-only NDJSON, synced, one file per writer and hour.
//
//   <workspace>/ledger/20261120T120000000Z-<run>.ndjson
import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { type LeaseEntry, momentOf, type RequestMade } from '../core/governor/lease-entries.ts'
import { PERIOD_DAYS } from '../core/planning/estimate.ts'
import { compactTimestamp, DAY, HOUR, MINUTE } from '../core/time.ts'
import { makeFolder, namesIn, syncFolder } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import { withReserve } from './disk-reserve.ts'
import type { LeaseLog } from './lease-log.ts'

/** Files further in the future are set aside. Clocks that share a time source differ by seconds, other clocks by minutes. */
const CLOCK_SKEW_MS = 15 * MINUTE

/** Entries that share a sync share a file, so a file may hold entries of the first moments of the next hour. */
const OVERLAP_MS = MINUTE

/** Opens the lease log of a workspace. `run` makes the file's name unique to this writer. */
export function openLeaseLog(options: { home: string; workspaceId: string; run: string }): LeaseLog {
  const root = join(options.home, 'landing')
  const folder = join(root, pathSegment(options.workspaceId), 'ledger')
  /** `torn`: the file may end in half a line, left by a kill or a full disk; the next entry begins on a line of its own. */
  let current: { hour: number; handle: FileHandle; torn: boolean } | null = null
  let waiting: { line: string; atMs: number; done: () => void; failed: (error: unknown) => void }[] = []
  let flushing: Promise<void> | null = null

  async function fileOf(hour: number): Promise<NonNullable<typeof current>> {
    if (current?.hour === hour) return current
    await current?.handle.close()
    current = null
    await makeFolder(folder)
    const name = `${compactTimestamp(hour * HOUR)}-${options.run}.ndjson`
    const handle = await open(join(folder, name), 'a', 0o600)
    current = { hour, handle, torn: (await handle.stat()).size > 0 }
    await syncFolder(folder)
    return current
  }

  async function write(atMs: number, lines: string): Promise<void> {
    const file = await fileOf(Math.floor(atMs / HOUR))
    const text = file.torn ? `\n${lines}` : lines
    file.torn = true
    await file.handle.appendFile(text)
    await file.handle.datasync()
    file.torn = false
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

  const textOf = (name: string): Promise<string> =>
    readFile(join(folder, name), 'utf8').catch(cause => {
      throw homeUnusable(join(folder, name), cause)
    })

  async function setAside(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await rename(join(folder, name), join(folder, `${name}.set-aside`)).catch(cause => {
        throw homeUnusable(join(folder, name), cause)
      })
    }
  }

  return {
    append: entry =>
      new Promise((done, failed) => {
        waiting.push({ line: `${JSON.stringify(entry)}\n`, atMs: momentOf(entry), done, failed })
        flushing ??= flush()
      }),
    async recent(nowMs, hourMs) {
      const names = (await namesIn(folder))
        .filter(name => name.endsWith('.ndjson'))
        .sort()
        .reverse()
      const isAhead = (name: string) => nameStartMs(name) > nowMs + CLOCK_SKEW_MS
      await setAside(names.filter(isAhead))
      const kept = names.filter(name => !isAhead(name))
      const entries: LeaseEntry[] = []
      let newest: RequestMade | undefined
      // Counted back from the newest file, so that a workspace that was idle for longer than a period still finds its usage.
      const sinceMs = kept.length > 0 ? nameStartMs(kept[0]!) - PERIOD_DAYS * DAY : 0
      for (const name of kept) {
        const endMs = nameEndMs(name)
        const isOld = endMs < nowMs - hourMs
        // A vendor that reported no usage for a whole billing period never reports any: stop, or each call would read years of the log.
        if (isOld && endMs < sinceMs) break
        // Each writer has its own file for an hour, and any of them may hold the newest usage: stop only at a file that ends before it.
        if (isOld && newest && endMs < newest.sentAtMs) break
        const parsed = parseLines(await textOf(name))
        if (!isOld) entries.push(...parsed)
        const usages = parsed.filter((entry): entry is RequestMade => entry.kind === 'request' && entry.usage !== null)
        // Of several usages in one millisecond, the one that was written last counts.
        for (const usage of usages.reverse()) if (!newest || usage.sentAtMs > newest.sentAtMs) newest = usage
      }
      const fresh = entries.filter(entry => momentOf(entry) >= nowMs - hourMs).sort((a, b) => momentOf(a) - momentOf(b))
      return newest && !fresh.includes(newest) ? [newest, ...fresh] : fresh
    },
    async close() {
      await flushing
      await current?.handle.close()
      current = null
    },
  }
}

const KINDS: readonly LeaseEntry['kind'][] = ['lease', 'request', 'end']

function parseLines(text: string): LeaseEntry[] {
  return text.split('\n').flatMap(line => {
    if (line === '') return []
    try {
      const entry = JSON.parse(line) as LeaseEntry
      return KINDS.includes(entry.kind) && Number.isFinite(momentOf(entry)) ? [entry] : []
    } catch {
      return []
    }
  })
}

/** When the hour of a file began. */
function nameStartMs(name: string): number {
  const iso = name.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z.*/, '$1-$2-$3T$4:$5:$6.$7Z')
  return Date.parse(iso)
}

/** The latest moment that an entry of the file can have. */
const nameEndMs = (name: string): number => nameStartMs(name) + HOUR + OVERLAP_MS
