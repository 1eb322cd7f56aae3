// The poll logs: pages of export windows that brought nothing, one line each instead of one file each. A hundred agents that are polled every
// fifteen minutes would otherwise leave 3.5 million files a year. Each process appends to a log of its own, one for each day on which windows
// were opened; `mergePolls` joins the logs that are no longer written.
//
//   <workspace>/polls/2026-11/20261120.<process>.ndjson                 appended to by one process
//   <workspace>/polls/2026-11/20261120.<process>.<random>.closed        no longer written, to be merged
//   <workspace>/polls/2026-11/20261118-20261120.<random>.ndjson.gz      merged: a line with the addresses, then the lines
//
// A line holds the page's address, head and body, so no answer loses anything here. A line whose checksum differs was cut off by a kill, and
// counts as absent: its process reported nothing to anybody.
import { randomBytes } from 'node:crypto'
import { open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { crc32, gunzip, gzip } from 'node:zlib'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { isById } from '../core/planning/windows.ts'
import { HOUR } from '../core/time.ts'
import { makeFolder, namesIn, syncFolder, writeOnce } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import { corrupt, type PageHead, readFirstLine } from './page.ts'
import { monthOfAddress, parsePageName } from './page-address.ts'

const deflate = promisify(gzip)
const inflate = promisify(gunzip)

/** A longer body is worth a file of its own. An empty page of the documented shape takes 600 to 900 bytes. */
const MOST_BODY_BYTES = 8 * 1024

/** Unique among the processes that share the data folder, on any machine. */
const PROCESS = `${process.pid}-${randomBytes(6).toString('hex')}`

export interface PolledPage {
  head: PageHead
  body: Buffer
}

const LOG = /^(\d{8})\.[^.]+\.ndjson$/
const CLOSED = /^(\d{8})\..+\.closed$/
const MERGED = /^(\d{8})-(\d{8})\..+\.ndjson\.gz$/

const isMerged = (name: string): boolean => MERGED.test(name)

/** First and last day of the windows in a log; null for another file. */
function daysOf(name: string): [string, string] | null {
  const [, first, last] = MERGED.exec(name) ?? LOG.exec(name) ?? CLOSED.exec(name) ?? []
  return first === undefined ? null : [first, last ?? first]
}

/** The day on which the page's window was opened, `20261120`. */
const dayOf = (address: string): string => parsePageName(address)?.window.slice(0, 8) ?? ''

/** True for a page of a time window without conversations, whose line holds every byte of it. */
export function isPoll({ place, facts, status }: PageHead, body: Uint8Array): boolean {
  return (
    place.stream === 'conversations' &&
    status === 200 &&
    facts?.returned === 0 &&
    !isById(facts.window.kind) &&
    /^\d{8}T/.test(place.window) &&
    body.length <= MOST_BODY_BYTES &&
    Buffer.compare(Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)), body) === 0
  )
}

function lineOf(address: string, { head, body }: { head: PageHead; body: Uint8Array }): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
  const rest = JSON.stringify({ page: address, head: { ...head, bodyBytes: body.length }, body: text }).slice(1)
  return `{"crc":${crc32(rest)},${rest}`
}

const LINE = /^\{"crc":(\d+),("page":("[^"]*"),.*)$/s

/** The complete lines of a log by address; the first line of an address counts. */
function linesIn(text: string): Map<string, string> {
  const lines = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, crc, rest, page] = LINE.exec(line) ?? []
    if (rest === undefined || crc32(rest) !== Number(crc)) continue
    const address = JSON.parse(page!) as string
    if (!lines.has(address)) lines.set(address, line)
  }
  return lines
}

const folderOf = (root: string, workspaceId: string): string => join(root, pathSegment(workspaceId), 'polls')

async function readLog(file: string): Promise<Map<string, string>> {
  const bytes = await readFile(file)
  if (!file.endsWith('.gz')) return linesIn(bytes.toString())
  return linesIn(
    await inflate(bytes).then(
      text => text.toString(),
      cause => {
        throw corrupt(file, cause)
      },
    ),
  )
}

/** Reads the addresses alone: a merged log begins with them, in a gzip member of its own. */
async function readAddresses(file: string): Promise<readonly string[]> {
  if (!file.endsWith('.gz')) return [...(await readLog(file)).keys()]
  const line = await readFirstLine(file)
  if (line === undefined) throw corrupt(file)
  return (JSON.parse(line) as { _polls: string[] })._polls
}

/** Logs kept in memory: the heads of one day's pages are read one after another. */
const MOST_LOGS = 4

export interface Polls {
  /** Makes the page durable. @throws HOME_UNUSABLE */
  append(address: string, page: { head: PageHead; body: Uint8Array }): Promise<void>
  /** True where any process has written a line for that address. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  has(address: string): Promise<boolean>
  /** Null where no line has that address. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  read(address: string): Promise<PolledPage | null>
  /** Addresses of all lines, or of those of windows that were opened in these months (`2026-11`). @throws HOME_UNUSABLE, LANDING_CORRUPT */
  addresses(months?: ReadonlySet<string>): Promise<Set<string>>
  /** Joins the logs of these months that nobody has written for `QUIET_MS`. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  merge(months: Iterable<string>): Promise<void>
  /** Removes the lines of these addresses durably; others are ignored. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  erase(addresses: readonly string[]): Promise<void>
}

/** Addresses that this process has written, by log. Several landings of one process share its logs. */
const own = new Map<string, Set<string>>()

export function openPolls(root: string, workspaceId: string): Polls {
  const folder = folderOf(root, workspaceId)
  /** Lines by file and its state; the most recently used last. */
  const cache = new Map<string, Promise<Map<string, string>>>()
  /** Addresses of merged logs, which never change, by file. */
  const merged = new Map<string, Promise<ReadonlySet<string>>>()

  const monthFolder = (address: string): string => join(folder, monthOfAddress(address))
  const ownLog = (address: string): string => join(monthFolder(address), `${dayOf(address)}.${PROCESS}.ndjson`)

  async function cached(file: string): Promise<Map<string, string>> {
    const { ino, size, mtimeNs } = await stat(file, { bigint: true })
    const key = `${file} ${ino} ${size} ${mtimeNs}`
    const lines = cache.get(key) ?? readLog(file)
    cache.delete(key)
    cache.set(key, lines)
    if (cache.size > MOST_LOGS) cache.delete(cache.keys().next().value!)
    return lines.catch(error => {
      cache.delete(key)
      throw error
    })
  }

  async function addressesIn(file: string): Promise<ReadonlySet<string>> {
    if (!isMerged(basename(file))) return new Set((await cached(file)).keys())
    const known = merged.get(file) ?? readAddresses(file).then(addresses => new Set(addresses))
    merged.set(file, known)
    return known.catch(error => {
      merged.delete(file)
      throw error
    })
  }

  /** The logs of a month that may hold the address. */
  async function logsFor(address: string, list: typeof logsIn): Promise<string[]> {
    const day = dayOf(address)
    const within = ([first, last]: [string, string]) => first <= day && day <= last
    return (await list(monthFolder(address))).filter(file => within(daysOf(basename(file))!))
  }

  return {
    async append(address, page) {
      const log = ownLog(address)
      await appendLine(log, lineOf(address, page))
      // The log of another day: its addresses are read from the file if they are needed again.
      if (!own.has(log)) for (const other of own.keys()) if (other.startsWith(`${folder}/`)) own.delete(other)
      own.set(log, (own.get(log) ?? new Set()).add(address))
    },
    has: address =>
      consistently(folder, async list => {
        const log = ownLog(address)
        if (own.get(log)?.has(address)) return true
        for (const file of await logsFor(address, list)) {
          if (file === log && own.has(log)) continue
          if ((await addressesIn(file)).has(address)) return true
        }
        return false
      }),
    read: address =>
      consistently(folder, async list => {
        const found: PolledPage[] = []
        for (const file of await logsFor(address, list)) {
          const line = (await addressesIn(file)).has(address) ? (await cached(file)).get(address) : undefined
          if (line === undefined) continue
          const { head, body } = JSON.parse(line) as { head: PageHead; body: string }
          found.push({ head, body: Buffer.from(body) })
        }
        return found.sort((a, b) => a.head.receivedAtMs - b.head.receivedAtMs)[0] ?? null
      }),
    addresses: months =>
      consistently(folder, async list => {
        const all = new Set<string>()
        for (const month of (await namesIn(folder)).filter(name => months?.has(name) ?? true))
          for (const file of await list(join(folder, month)))
            for (const address of await addressesIn(file)) all.add(address)
        return all
      }),
    async merge(months) {
      for (const month of new Set(months)) await mergeLogs(join(folder, month), QUIET_MS, new Set())
    },
    async erase(addresses) {
      const lines = await this.addresses(new Set(addresses.map(monthOfAddress)))
      const erased = new Set(addresses.filter(address => lines.has(address)))
      for (const written of own.values()) for (const address of erased) written.delete(address)
      for (const month of new Set([...erased].map(monthOfAddress))) await mergeLogs(join(folder, month), 0, erased)
    },
  }
}

/** The logs of a month's folder, in order of their names. */
const logsIn = async (folder: string): Promise<string[]> =>
  (await namesIn(folder))
    .filter(name => daysOf(name) !== null)
    .sort()
    .map(name => join(folder, name))

/** Appends a line of its own: the leading line feed ends a line that a kill has cut off. @throws HOME_UNUSABLE */
async function appendLine(file: string, line: string): Promise<void> {
  const folder = dirname(file)
  try {
    for (let isThere = false; !isThere; ) {
      await makeFolder(folder)
      const handle = await open(file, 'a', 0o600)
      try {
        const { ino, size } = await handle.stat({ bigint: true })
        await handle.appendFile(`\n${line}\n`)
        await handle.datasync()
        if (size === 0n) await syncFolder(folder)
        // A merge renames a log before it reads it. If the log was renamed meanwhile, the line may have come too late for the merge.
        const now = await stat(file, { bigint: true }).catch(() => null)
        isThere = now?.ino === ino
      } finally {
        await handle.close()
      }
    }
  } catch (cause) {
    throw homeUnusable(file, cause)
  }
}

const MOST_ATTEMPTS = 50

/**
 * Reads logs that other processes may be merging. Repeats `read` if a log has disappeared meanwhile, or if a folder that it has listed has
 * another log now: lines may have moved there. @throws HOME_UNUSABLE
 */
async function consistently<T>(folder: string, read: (list: typeof logsIn) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const listed = new Map<string, readonly string[]>()
    const list = async (month: string) => {
      const logs = await logsIn(month)
      listed.set(month, logs)
      return logs
    }
    try {
      const result = await read(list)
      const changed = await Promise.all([...listed].map(async ([month, logs]) => hasOthers(logs, await logsIn(month))))
      if (!changed.includes(true) || attempt === MOST_ATTEMPTS) return result
    } catch (cause) {
      if (hasCode(cause, 'ENOENT') && attempt < MOST_ATTEMPTS) continue
      throw cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
    }
  }
}

const hasOthers = (before: readonly string[], now: readonly string[]): boolean => now.some(log => !before.includes(log))

/** A log that was not written for this long is closed. Its process may still write: it notices, and begins another. */
const QUIET_MS = HOUR

/** Merged logs below this size are merged again with later ones: a workspace with few agents then has one file a month. */
const SMALL_BYTES = 256 * 1024
/** Lines of one merged log, before compression. Its lines are in memory while it is written or read. */
const MOST_MERGED_BYTES = 32 * 1024 * 1024

/** Closes the quiet logs of a folder. */
async function closeQuiet(folder: string, quietMs: number): Promise<void> {
  for (const name of (await namesIn(folder)).filter(name => LOG.test(name))) {
    const { mtimeMs } = await stat(join(folder, name))
    if (mtimeMs > Date.now() - quietMs) continue
    const closed = `${name.slice(0, -'.ndjson'.length)}.${randomBytes(6).toString('hex')}.closed`
    await rename(join(folder, name), join(folder, closed))
  }
}

async function mergeLogs(folder: string, quietMs: number, except: ReadonlySet<string>): Promise<void> {
  try {
    await closeQuiet(folder, quietMs)
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
  for (const file of files)
    await unlink(file).catch(cause => {
      if (!hasCode(cause, 'ENOENT')) throw cause
    })
  if (files.length > 0) await syncFolder(folder)
}
