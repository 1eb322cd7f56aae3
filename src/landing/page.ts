// A landed page: a head that we write, then the body as the vendor sent it, byte for byte. Two JSON values in one file,
// each its own gzip member: DuckDB reads the whole, and the head alone is read from the file's first kilobytes.
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, crc32, gunzip, gunzipSync, gzip, gzipSync } from 'node:zlib'
import type { PageNotes } from '../catalog/inspect.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { ReportedBill, ReportedRateLimit, ReportedUsage } from '../core/reported-usage.ts'
import type { PageFacts } from '../core/windows.ts'
import type { PagePlace } from './page-address.ts'

export interface PageHead {
  v: 1
  catalogVersion: number
  workspaceId: string
  place: PagePlace
  /** The id in the path of a resource's request: the organization's, or that of the parent whose list it is. */
  requestedId?: string
  /** The same on pages of earlier versions. */
  organizationId?: string
  /** The agent of which an answer said that the vendor knows it no more. */
  goneAgentId?: string
  run: string
  lease: string | null
  /** Path and query as sent; the token is in neither. */
  request: { path: string; query: Record<string, string> }
  status: number
  /** Local clock, ms. */
  sentAtMs: number
  receivedAtMs: number
  /** When the request was sent by the server's clock, ms: what versions are compared by. */
  sentAtServerMs: number
  /** Length of the body that landed. */
  bodyBytes: number
  /** The body's gzip member as it was written, for whoever reads it without looking at gzip's own checksum. */
  packed?: { bytes: number; crc32: number }
  /** True for the last page of a listing or window; of a listing only where it is known to be complete. */
  lastPage: boolean
  /** Of the page that a listing ends with: why it may be cut off. */
  cutOff?: string
  /** Position in its window; null for a page of another stream than conversations. */
  facts: PageFacts | null
  usage: ReportedUsage | null
  /** Absent where the vendor told none, and on pages of before it was kept. */
  bill?: ReportedBill
  rateLimit: ReportedRateLimit | null
  notes: PageNotes
}

// Level 4 takes three quarters of the CPU of level 6 for a tenth more bytes on the sandbox's pages; level 2 would take three
// quarters of that again, for 18 % more. The larger memory and one large chunk instead of many of 16 KB, each a way through the
// event loop: 4.2 ms of CPU a page instead of 4.7. What that is in wall time was lost in the noise of the cores.
const BODY = { level: 4, memLevel: 9, chunkSize: 256 * 1024 }
const HEAD_READ_BYTES = 4 * 1024
const HEAD_LIMIT_BYTES = 8 * 1024 * 1024

const deflate = promisify(gzip)
const inflate = promisify(gunzip)

/** The two gzip members of a page's file; the head tells of this body, whatever it told before. */
export async function encodePage(head: PageHead, body: Uint8Array): Promise<Uint8Array[]> {
  const packed = await deflate(body, BODY)
  const told = { ...head, bodyBytes: body.length, packed: { bytes: packed.length, crc32: crc32(packed) } }
  return [gzipSync(Buffer.from(`${JSON.stringify({ _head: told })}\n`)), packed]
}

export const corrupt = (file: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('LANDING_CORRUPT', {
    what: `The landed file ${file} cannot be read: it is cut off or was changed.`,
    hint: 'Restore it from a backup, or delete it and sync again: that page alone is then bought again.',
    cause,
    facts: { file },
  })

/**
 * First gzip member, as far as the given bytes hold it; undefined where they do not hold all of it. In sync: a few
 * kilobytes take less than handing them to another thread.
 */
function firstLine(bytes: Uint8Array): string | undefined {
  try {
    // The input may be cut anywhere behind the first member, so the end of the stream is not asked for.
    const text = gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString()
    const end = text.indexOf('\n')
    return end < 0 ? undefined : text.slice(0, end)
  } catch {
    return undefined
  }
}

/** Reads a page's head without its body. @throws LANDING_CORRUPT */
export async function readHead(file: string): Promise<PageHead> {
  const handle = await open(file, 'r').catch(cause => {
    throw corrupt(file, cause)
  })
  try {
    for (let size = HEAD_READ_BYTES; size <= HEAD_LIMIT_BYTES; size *= 8) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(size), 0, size, 0)
      const line = firstLine(buffer.subarray(0, bytesRead))
      if (line !== undefined) return (JSON.parse(line) as { _head: PageHead })._head
      if (bytesRead < size) break
    }
    throw corrupt(file)
  } catch (cause) {
    throw cause instanceof ConvohouseError ? cause : corrupt(file, cause)
  } finally {
    await handle.close()
  }
}

/** Reads a page's body, byte for byte as it was sent. @throws LANDING_CORRUPT */
export async function readBody(file: string): Promise<Buffer> {
  const handle = await open(file, 'r').catch(cause => {
    throw corrupt(file, cause)
  })
  try {
    const whole = await inflate(await handle.readFile())
    const end = whole.indexOf(0x0a)
    const { _head: head } = JSON.parse(whole.toString('utf8', 0, end)) as { _head: PageHead }
    const body = whole.subarray(end + 1)
    // A file that was cut off exactly behind its head is a whole gzip file still.
    if (body.length !== head.bodyBytes) throw new Error(`${body.length} of ${head.bodyBytes} bytes`)
    return body
  } catch (cause) {
    throw corrupt(file, cause)
  } finally {
    await handle.close()
  }
}
