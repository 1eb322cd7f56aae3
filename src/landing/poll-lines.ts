// The files of poll logs: their names, the lines in them (poll-log.ts), and which addresses the lines have. Each page that lands is looked up
// in every log of its day, so a merged log is read once, and of a log that grows only what is new.
import { open, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { crc32, gunzip } from 'node:zlib'
import { namesIn } from '../files/durable.ts'
import { corrupt, type PageHead, readFirstLine } from './page.ts'
import { parsePageName } from './page-address.ts'

const inflate = promisify(gunzip)

export const LOG = /^(\d{8})\.[^.]+\.ndjson$/
const CLOSED = /^(\d{8})\..+\.closed$/
const MERGED = /^(\d{8})-(\d{8})\..+\.ndjson\.gz$/

export const isMerged = (name: string): boolean => MERGED.test(name)

/** First and last day of the windows in a log; null for another file. */
export function daysOf(name: string): [string, string] | null {
  const [, first, last] = MERGED.exec(name) ?? LOG.exec(name) ?? CLOSED.exec(name) ?? []
  return first === undefined ? null : [first, last ?? first]
}

/** The day on which the page's window was opened, `20261120`. */
export const dayOf = (address: string): string => parsePageName(address)?.window.slice(0, 8) ?? ''

export function lineOf(address: string, { head, body }: { head: PageHead; body: Uint8Array }): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
  const rest = JSON.stringify({ page: address, head: { ...head, bodyBytes: body.length }, body: text }).slice(1)
  return `{"crc":${crc32(rest)},${rest}`
}

const LINE = /^\{"crc":(\d+),("page":("[^"]*"),.*)$/s

/** The complete lines of a log by address; the first line of an address counts. */
export function linesIn(text: string): Map<string, string> {
  const lines = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, crc, rest, page] = LINE.exec(line) ?? []
    if (rest === undefined || crc32(rest) !== Number(crc)) continue
    const address = JSON.parse(page!) as string
    if (!lines.has(address)) lines.set(address, line)
  }
  return lines
}

export async function readLog(file: string): Promise<Map<string, string>> {
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
export async function readAddresses(file: string): Promise<readonly string[]> {
  if (!file.endsWith('.gz')) return [...(await readLog(file)).keys()]
  const line = await readFirstLine(file)
  if (line === undefined) throw corrupt(file)
  return (JSON.parse(line) as { _polls: string[] })._polls
}

/** The logs of a month's folder, in order of their names. */
export const logsIn = async (folder: string): Promise<string[]> =>
  (await namesIn(folder))
    .filter(name => daysOf(name) !== null)
    .sort()
    .map(name => join(folder, name))

/** About 30 MB. */
const MOST_ADDRESSES = 200_000

/** The first lines of two logs differ within these bytes, which contain a checksum and most of an address. */
const BEGINNING_BYTES = 256

const LINE_FEED = 0x0a

interface Known {
  addresses: Set<string>
  /** The file's number and first bytes: after a merge, the next log has the same name, and may have the same number. */
  ino: bigint
  beginning: Buffer
  /** Bytes read, up to the end of a line. */
  read: number
  /** Modification time when it was read. */
  mtimeNs: bigint
  last: Promise<unknown>
}

const unread = () => ({ addresses: new Set<string>(), ino: -1n, beginning: Buffer.alloc(0), read: 0, mtimeNs: -1n })

async function readAhead(file: string, known: Known): Promise<void> {
  const found = await stat(file, { bigint: true })
  if (found.ino === known.ino && Number(found.size) === known.read && found.mtimeNs === known.mtimeNs) return
  const handle = await open(file, 'r')
  try {
    const { ino, size, mtimeNs } = await handle.stat({ bigint: true })
    const bytesOf = async (from: number, to: number): Promise<Buffer> => {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(to - from), 0, to - from, from)
      return buffer.subarray(0, bytesRead)
    }
    const beginning = await bytesOf(0, Math.min(BEGINNING_BYTES, Number(size)))
    const isSame =
      ino === known.ino && size >= known.read && beginning.subarray(0, known.beginning.length).equals(known.beginning)
    if (!isSame) Object.assign(known, unread())
    Object.assign(known, { ino, beginning, mtimeNs })
    if (Number(size) === known.read) return
    const added = await bytesOf(known.read, Number(size))
    for (const address of linesIn(added.toString()).keys()) known.addresses.add(address)
    known.read += added.lastIndexOf(LINE_FEED) + 1
  } finally {
    await handle.close()
  }
}

async function readMerged(file: string, known: Known): Promise<void> {
  if (known.read > 0) return
  known.addresses = new Set(await readAddresses(file))
  known.read = 1
}

/**
 * Returns a function that reads the addresses in a log. The set that it returns may grow later.
 * @throws LANDING_CORRUPT; the system's ENOENT where a log does not exist
 */
export function openPollAddresses(): (file: string) => Promise<ReadonlySet<string>> {
  const logs = new Map<string, Known>()

  return async file => {
    const known = logs.get(file) ?? { ...unread(), last: Promise.resolve() }
    logs.delete(file)
    logs.set(file, known)
    const read = isMerged(basename(file)) ? readMerged : readAhead
    const reading = known.last.then(() => read(file, known))
    known.last = reading.catch(() => {})
    await reading.catch(error => {
      logs.delete(file)
      throw error
    })
    forgetOldest(logs, MOST_ADDRESSES, ({ addresses }) => addresses.size)
    return known.addresses
  }
}

/** Removes entries from the beginning of a map until the sizes of the others add up to at most `most`; the last entry stays in any case. */
export function forgetOldest<T>(kept: Map<string, T>, most: number, sizeOf: (value: T) => number): void {
  let sum = 0
  for (const value of kept.values()) sum += sizeOf(value)
  for (const [key, value] of kept) {
    if (sum <= most || kept.size === 1) return
    kept.delete(key)
    sum -= sizeOf(value)
  }
}
