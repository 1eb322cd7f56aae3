// The poll logs: pages of export windows that brought nothing, one line each instead of one file each. A hundred agents that are polled every
// fifteen minutes would otherwise leave 3.5 million files a year. Each process appends to a log of its own, one for each day on which windows
// were opened; poll-log-merge.ts joins the logs that are no longer written.
//
//   <workspace>/polls/2026-11/20261120.<process>.ndjson                 appended to by one process
//   <workspace>/polls/2026-11/20261120.<process>.<random>.closed        no longer written, to be merged
//   <workspace>/polls/2026-11/20261118-20261120.<random>.ndjson.gz      merged: a line with the addresses, then the lines
//
// A line holds the page's address, head and body, so no answer loses anything here. A line whose checksum differs was cut off by a kill, and
// counts as absent: its process reported nothing to anybody.
import { randomBytes } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { homeUnusable } from '../core/disk.ts'
import { isById } from '../core/planning/windows.ts'
import { entriesIn, makeFolder, syncFolder } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import { consistently } from './consistent-reads.ts'
import type { PageHead } from './page.ts'
import { monthOfAddress } from './page-address.ts'
import { dayOf, daysOf, forgetOldest, lineOf, logsIn, openPollAddresses, readLog } from './poll-lines.ts'
import { isQuiet, mergeLogs } from './poll-log-merge.ts'

/** A longer body is worth a file of its own. An empty page of the documented shape takes 600 to 900 bytes. */
const MOST_BODY_BYTES = 8 * 1024

/** Unique among the processes that share the data folder, on any machine. */
const PROCESS = `${process.pid}-${randomBytes(6).toString('hex')}`

export interface PolledPage {
  head: PageHead
  body: Buffer
}

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

const folderOf = (root: string, workspaceId: string): string => join(root, pathSegment(workspaceId), 'polls')

/** Characters of lines that are kept in memory: the heads of one day's pages are read one after another, from several logs. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** Another process that merges the same logs keeps an erasure from completing; the next attempt sees what that process has written. */
const MOST_ERASURES = 10

export interface Polls {
  /** Makes the page durable. @throws HOME_UNUSABLE */
  append(address: string, page: { head: PageHead; body: Uint8Array }): Promise<void>
  /** True where any process has written a line for that address. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  has(address: string): Promise<boolean>
  /** Null where no line has that address. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  read(address: string): Promise<PolledPage | null>
  /** Addresses of all lines, or of those of windows that were opened in these months (`2026-11`). @throws HOME_UNUSABLE, LANDING_CORRUPT */
  addresses(months?: ReadonlySet<string>): Promise<Set<string>>
  /** Joins the logs of these months that are of past days, or that nobody has written for `QUIET_MS`. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  merge(months: Iterable<string>, nowMs: number): Promise<void>
  /** Removes the lines of these addresses durably; others are ignored. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  erase(addresses: readonly string[]): Promise<void>
}

export function openPolls(root: string, workspaceId: string): Polls {
  const folder = folderOf(root, workspaceId)
  /** Lines by file and its state; the most recently used last. */
  const cache = new Map<string, { lines: Promise<Map<string, string>>; characters: number }>()
  const addressesIn = openPollAddresses()

  const monthFolder = (address: string): string => join(folder, monthOfAddress(address))
  const ownLog = (address: string): string => join(monthFolder(address), `${dayOf(address)}.${PROCESS}.ndjson`)

  async function linesOf(file: string): Promise<Map<string, string>> {
    const { ino, size, mtimeNs } = await stat(file, { bigint: true })
    const key = `${file} ${ino} ${size} ${mtimeNs}`
    const cached = cache.get(key) ?? { lines: readLog(file), characters: 0 }
    cache.delete(key)
    cache.set(key, cached)
    const lines = await cached.lines.catch(error => {
      cache.delete(key)
      throw error
    })
    if (cached.characters === 0) for (const line of lines.values()) cached.characters += line.length
    forgetOldest(cache, MOST_CHARACTERS, ({ characters }) => characters)
    return lines
  }

  /** The logs of a month that may hold the address. */
  async function logsFor(address: string, list: typeof logsIn): Promise<string[]> {
    const day = dayOf(address)
    const within = ([first, last]: [string, string]) => first <= day && day <= last
    return (await list(monthFolder(address))).filter(file => within(daysOf(basename(file))!))
  }

  return {
    append: (address, page) => appendLine(ownLog(address), lineOf(address, page)),
    has: address =>
      consistently(folder, logsIn, async list => {
        const logs = await Promise.all((await logsFor(address, list)).map(addressesIn))
        return logs.some(addresses => addresses.has(address))
      }),
    read: address =>
      consistently(folder, logsIn, async list => {
        const found: PolledPage[] = []
        for (const file of await logsFor(address, list)) {
          const line = (await addressesIn(file)).has(address) ? (await linesOf(file)).get(address) : undefined
          if (line === undefined) continue
          const { head, body } = JSON.parse(line) as { head: PageHead; body: string }
          found.push({ head, body: Buffer.from(body) })
        }
        return found.sort((a, b) => a.head.receivedAtMs - b.head.receivedAtMs)[0] ?? null
      }),
    addresses: months =>
      consistently(folder, logsIn, async list => {
        const all = new Set<string>()
        const below = (await entriesIn(folder)).filter(entry => entry.isDirectory()).map(({ name }) => name)
        for (const month of below.filter(name => months?.has(name) ?? true))
          for (const file of await list(join(folder, month)))
            for (const address of await addressesIn(file)) all.add(address)
        return all
      }),
    async merge(months, nowMs) {
      for (const month of new Set(months))
        await mergeLogs(join(folder, month), name => isQuiet(join(folder, month, name), nowMs), new Set())
    },
    async erase(addresses) {
      for (let attempt = 1; attempt <= MOST_ERASURES; attempt++) {
        const lines = await this.addresses(new Set(addresses.map(monthOfAddress)))
        const erased = new Set(addresses.filter(address => lines.has(address)))
        if (erased.size === 0) return
        for (const month of new Set([...erased].map(monthOfAddress)))
          await mergeLogs(join(folder, month), async () => true, erased)
      }
    },
  }
}

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
