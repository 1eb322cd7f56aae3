// The file of a landed page: a head that we write, then the body as the vendor sent it, byte for byte. Two JSON values, each its own gzip
// member: DuckDB reads the file as a whole, and the head alone is read from its first kilobytes.
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
  /** The id in the path of a resource's request: the organization's own, or for a list that of its parent. */
  requestedId?: string
  /** The agent in the path beside `requestedId`, where the record has an id of its own. */
  requestedAgentId?: string
  /** On pages of a list: those who answered for it, where lists of several are united; `listedBy` of the resource is their column. */
  answeredBy?: readonly string[]
  /** The agent that the vendor reported as deleted. */
  goneAgentId?: string
  /**
   * Of a listing with a second list of starred records: ids of this page's records that are in it, on whichever page of the listing. The
   * list itself cannot tell, because repeated entries are not landed.
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
  /** When the request was sent, by the server's clock, ms. Versions of a record are compared by this time. */
  sentAtServerMs: number
  /** Length of the body that landed. */
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
  /** The vendor reports no bill for some answers; the field is then absent. */
  bill?: ReportedBill
  rateLimit: ReportedRateLimit | null
  notes: PageNotes
}

// Measured on the sandbox's pages: level 4 takes 75 % of the CPU of level 6 for 10 % more bytes; level 2 takes 75 % of the CPU of level 4
// for 18 % more. memLevel 9 and one large chunk take 4.2 ms of CPU per page instead of 4.7; many chunks of 16 KB cost a turn of the event
// loop each. The wall time does not differ measurably.
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
    what: `The landed file ${file} cannot be read: it is cut off or was changed.`,
    hint: 'Restore it from a backup, or delete it and sync again: only the pages in it are then exported again, and billed.',
    cause,
    facts: { file },
  })

/**
 * Returns the first gzip member's line; undefined if the bytes end before the line. Synchronous: a few kilobytes cost less than a thread switch.
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
 * Returns the content of a gzip member of ours, whose header has no flags. DuckDB, which verifies no checksums, fails
 * internally if it finds any, and then the process can no longer use its warehouse. @throws where a bit of it has flipped
 */
export function memberBytes(member: Uint8Array): Buffer {
  if (member[3] !== 0) throw new Error('the header of a gzip member has flags')
  return gunzipSync(member)
}

/** Returns the head of a page from its line. */
export const headIn = (line: string): PageHead => (JSON.parse(line) as { _head: PageHead })._head

/**
 * Reads the line in a file's first gzip member, and no more of the file than that; undefined if there is none.
 * @throws the system's error where the file cannot be opened
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

/** Reads a page's body, byte for byte as the vendor sent it. @throws LANDING_CORRUPT */
export async function readBody(file: string): Promise<Buffer> {
  const handle = await open(file, 'r').catch(cause => {
    throw corrupt(file, cause)
  })
  try {
    const content = await inflate(await handle.readFile())
    const end = content.indexOf(0x0a)
    const { _head: head } = JSON.parse(content.toString('utf8', 0, end)) as { _head: PageHead }
    const body = content.subarray(end + 1)
    // A file that was truncated exactly after its head is still valid gzip.
    if (body.length !== head.bodyBytes) throw new Error(`${body.length} of ${head.bodyBytes} bytes`)
    return body
  } catch (cause) {
    throw corrupt(file, cause)
  } finally {
    await handle.close()
  }
}

const FILES_AT_ONCE = 8

/** Returns the line of the head and the packed body of a page's file. @throws where a bit of either has flipped */
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
 * Verifies landed pages: DuckDB does not check gzip's own checksum, so a flipped bit could load as another value. For the bodies of 202 pages
 * this took 30 ms, 0.7 % of a replay; decompressing them once more took 280 ms.
 * @throws LANDING_CORRUPT naming the first file that differs from what was written
 */
export async function verifyChecksums(pages: readonly WrittenPage[]): Promise<void> {
  for (let start = 0; start < pages.length; start += FILES_AT_ONCE)
    await Promise.all(pages.slice(start, start + FILES_AT_ONCE).map(verify))
}
