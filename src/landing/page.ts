// The file of a landed page: a head that we write, then the body as the vendor sent it, byte for byte. It consists of two JSON
// values, each a separate gzip member: DuckDB reads the whole file, and we read the head alone from the first kilobytes.
import { open, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, crc32, gunzip, gunzipSync, gzip, gzipSync } from 'node:zlib'
import type { PageNotes } from '../catalog/inspection/inspect.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { PageFacts } from '../core/planning/windows.ts'
import type { ReportedBill, ReportedRateLimit, ReportedUsage } from '../core/quota/reported-usage.ts'
import type { PagePlace } from './page-address.ts'

export interface PageHead {
  v: 1
  catalogVersion: number
  workspaceId: string
  place: PagePlace
  /** Id in the path of a resource's request: that of the organization itself, or of a list's parent. */
  requestedId?: string
  /** Agent in the path beside `requestedId`, if the record has a separate id. */
  requestedAgentId?: string
  /** On pages of a list that unites several: providers that answered; the resource's `listedBy` is their column. */
  answeredBy?: readonly string[]
  /** The agent that the vendor reported as deleted. */
  goneAgentId?: string
  /**
   * For a listing with a second list of starred records: ids of this page's records in that list, on any page of the
   * listing. The list itself does not show this, because repeated entries are not landed.
   */
  starredIds?: readonly string[]
  run: string
  lease: string | null
  /** Path and query as sent; neither contains the token. */
  request: { path: string; query: Record<string, string> }
  status: number
  /** Local clock, ms. */
  sentAtMs: number
  receivedAtMs: number
  /** Time of the request by the server's clock, ms. It orders the versions of a record. */
  sentAtServerMs: number
  /** Length of the landed body. */
  bodyBytes: number
  /** Length and checksum of the body's gzip member, for readers that do not check gzip's own checksum. */
  packed?: { bytes: number; crc32: number }
  /** True for the last page of a window, and of a listing that is known to be complete. */
  lastPage: boolean
  /** On the final page of a listing that may be truncated: the reason. */
  cutOff?: string
  /** Position in the window; null outside of the conversations stream. */
  facts: PageFacts | null
  usage: ReportedUsage | null
  /** Number of records of forgotten people, which were returned and did not land, or were erased since; omitted for none. */
  forgotten?: number
  /** Omitted for answers without a reported bill. */
  bill?: ReportedBill
  rateLimit: ReportedRateLimit | null
  notes: PageNotes
}

// Measured on the sandbox's pages: level 4 takes 75 % of the CPU of level 6 for 10 % more bytes; level 2 takes 75 % of
// the CPU of level 4 for 18 % more. memLevel 9 and one large chunk take 4.2 ms of CPU per page instead of 4.7; many
// chunks of 16 KB cost a turn of the event loop each. The wall time does not differ measurably.
const BODY = { level: 4, memLevel: 9, chunkSize: 256 * 1024 }
const HEAD_READ_BYTES = 4 * 1024
const HEAD_LIMIT_BYTES = 32 * 1024 * 1024

const deflate = promisify(gzip)
const inflate = promisify(gunzip)

/** Returns the two gzip members of a page's file. Sets the head's `bodyBytes` and `packed` to those of this body. */
export async function encodePage(head: PageHead, body: Uint8Array): Promise<Uint8Array[]> {
  const packed = await deflate(body, BODY)
  const completed = { ...head, bodyBytes: body.length, packed: { bytes: packed.length, crc32: crc32(packed) } }
  return [gzipSync(Buffer.from(`${JSON.stringify({ _head: completed })}\n`)), packed]
}

export const corrupt = (file: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('LANDING_CORRUPT', {
    what: `The landed file ${file} is damaged: it is cut off, was changed or cannot be read.`,
    hint: 'Restore it from a backup, or delete it and sync again: only the pages in it are then exported again, and billed.',
    cause,
    facts: { file },
  })

/**
 * Returns the first gzip member's line; undefined if the bytes end before it. Synchronous, since a thread switch costs more.
 */
export function firstLine(bytes: Uint8Array): string | undefined {
  try {
    // The input may end anywhere after the first member.
    const text = gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString()
    const end = text.indexOf('\n')
    return end < 0 ? undefined : text.slice(0, end)
  } catch {
    return undefined
  }
}

/**
 * Returns the content of one of our gzip members, whose header has no flags. DuckDB verifies no checksums. If it finds
 * flags, it fails internally, and the process can no longer use its warehouse. @throws if a bit has flipped
 */
export function memberBytes(member: Uint8Array): Buffer {
  if (member[3] !== 0) throw new Error('the header of a gzip member has flags')
  return gunzipSync(member)
}

/** Returns the head of a page from its line. */
export const headIn = (line: string): PageHead => (JSON.parse(line) as { _head: PageHead })._head

/**
 * Reads only the line in a file's first gzip member; undefined if there is none.
 * @throws the system's error if the file cannot be opened
 */
export async function readFirstLine(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r')
  try {
    for (let size = HEAD_READ_BYTES; size <= HEAD_LIMIT_BYTES; size *= 8) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(size), 0, size, 0)
      const line = firstLine(buffer.subarray(0, bytesRead))
      if (line !== undefined || bytesRead < size) return line
    }
    return undefined
  } finally {
    await handle.close()
  }
}

/** Reads a page's head without its body. @throws LANDING_CORRUPT */
export async function readHead(file: string): Promise<PageHead> {
  try {
    const line = await readFirstLine(file)
    if (line !== undefined) return headIn(line)
  } catch (cause) {
    throw corrupt(file, cause)
  }
  throw corrupt(file)
}

/** Reads a page: its head, and its body byte for byte as it landed. @throws LANDING_CORRUPT */
export async function readPage(file: string): Promise<{ head: PageHead; body: Buffer }> {
  const handle = await open(file, 'r').catch(cause => {
    throw corrupt(file, cause)
  })
  try {
    const content = await inflate(await handle.readFile())
    const end = content.indexOf(0x0a)
    const head = headIn(content.toString('utf8', 0, end))
    const body = content.subarray(end + 1)
    // A file that was truncated exactly after its head is still valid gzip.
    if (body.length !== head.bodyBytes) throw new Error(`${body.length} of ${head.bodyBytes} bytes`)
    return { head, body }
  } catch (cause) {
    throw corrupt(file, cause)
  } finally {
    await handle.close()
  }
}

const FILES_AT_ONCE = 8

/** Returns the head's line and the packed body of a page's file. @throws if a bit of either has flipped */
export function intactMembers(
  content: Buffer,
  packed: NonNullable<PageHead['packed']>,
): Record<'head' | 'body', Buffer> {
  const headBytes = content.length - packed.bytes
  const [head, body] = [content.subarray(0, headBytes), content.subarray(headBytes)]
  if (headBytes <= 0 || crc32(body) !== packed.crc32) throw new Error('the checksum differs')
  return { head: memberBytes(head), body }
}

interface WrittenPage {
  file: string
  head: Pick<PageHead, 'packed'>
}

async function verify({ file, head: { packed } }: WrittenPage): Promise<void> {
  try {
    intactMembers(await readFile(file), packed!)
  } catch (cause) {
    throw corrupt(file, cause)
  }
}

/**
 * Verifies landed pages: DuckDB does not check gzip's own checksum, so a flipped bit could load as another value. For
 * the bodies of 202 pages this took 30 ms, 0.7 % of a replay; decompressing them again took 280 ms.
 * @throws LANDING_CORRUPT naming the first file that differs from the written one
 */
export async function verifyChecksums(pages: readonly WrittenPage[]): Promise<void> {
  for (let start = 0; start < pages.length; start += FILES_AT_ONCE)
    await Promise.all(pages.slice(start, start + FILES_AT_ONCE).map(verify))
}
