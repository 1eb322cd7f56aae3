// The leases ledger: each lease when it is granted, each request's outcome, each lease's end. Append-only and synced, one
// file a runner and hour. After a kill the governor's state is rebuilt from it: a lease without an end counts as wholly
// spent until its hour has passed.
import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { PERIOD_DAYS } from '../core/estimate.ts'
import { type LeaseEntry, momentOf, type RequestMade } from '../core/lease-entries.ts'
import { compactTimestamp, DAY, HOUR, MINUTE } from '../core/time.ts'
import { makeFolder, namesIn } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import { withReserve } from './disk-reserve.ts'

export interface LeaseLog {
  /** Appends and syncs; entries appended while a sync runs share the next one. @throws HOME_UNUSABLE */
  append(entry: LeaseEntry): Promise<void>
  /**
   * Entries of the last `hourMs` in order of time, and before them the newest request that told a usage. A line that a
   * kill cut off is passed over: what it told had not been acted on. Files that lie further ahead than clocks of machines differ
   * are set aside: the clock has been set back. All others count.
   * @throws HOME_UNUSABLE
   */
  recent(nowMs: number, hourMs: number): Promise<LeaseEntry[]>
  close(): Promise<void>
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

/** Opens the ledger of a workspace. `run` makes the file's name unique to this runner. */
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
    const parent = await open(folder, 'r')
    await parent.sync().finally(() => parent.close())
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
      // Entries ahead of it count until they are an hour old.
      const isAhead = (name: string) => nameStartMs(name) > nowMs + CLOCKS_DIFFER_MS
      await setAside(names.filter(isAhead))
      const kept = names.filter(name => !isAhead(name))
      const entries: LeaseEntry[] = []
      let told: RequestMade | undefined
      // A workspace that rests for longer loses nothing: counted from its last entries.
      const sinceMs = kept.length > 0 ? nameStartMs(kept[0]!) - PERIOD_DAYS * DAY : 0
      for (const name of kept) {
        const endMs = nameEndMs(name)
        const old = endMs < nowMs - hourMs
        // Where no usage is reported for so long, none is: a log of years would be read each time.
        if (old && endMs < sinceMs) break
        // Files of one hour, of several runners, are all looked at: any of them may hold the newest.
        if (old && told && endMs < told.sentAtMs) break
        const parsed = parseLines(await textOf(name))
        if (!old) entries.push(...parsed)
        const usages = parsed.filter((entry): entry is RequestMade => entry.kind === 'request' && entry.usage !== null)
        // Of several in one millisecond, the last that was written.
        for (const usage of usages.reverse()) if (!told || usage.sentAtMs > told.sentAtMs) told = usage
      }
      const fresh = entries.filter(entry => momentOf(entry) >= nowMs - hourMs).sort((a, b) => momentOf(a) - momentOf(b))
      return told && !fresh.includes(told) ? [told, ...fresh] : fresh
    },
    async close() {
      await flushing
      await current?.handle.close()
      current = null
    },
  }
}

/** Machines with a common clock are seconds apart, and with clocks of their own some minutes. */
const CLOCKS_DIFFER_MS = 15 * MINUTE

/** Entries that share a sync share a file: some may be of the first moments of the next hour. */
const OVERLAP_MS = MINUTE

/** When the hour of a file began. */
function nameStartMs(name: string): number {
  const iso = name.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z.*/, '$1-$2-$3T$4:$5:$6.$7Z')
  return Date.parse(iso)
}

/** When the last of a file's entries was made, at most. */
const nameEndMs = (name: string): number => nameStartMs(name) + HOUR + OVERLAP_MS
