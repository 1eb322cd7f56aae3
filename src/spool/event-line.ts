// A line of a segment: one event, with a checksum of all that follows it.
//
//   {"crc":"7d1e0c5a","batch":81920,"id":"9f…","receivedAt":1763745000123,"workspace":"ws_demo","type":"…","payload":{…}}
//
// `batch` is where the lines begin in the file that were synced together with this one. They were written after everything
// before them was on the disk. So what is unreadable behind the begin of the last batch was never acknowledged: a kill cut it
// off. What is unreadable before it was acknowledged, and has been damaged since.
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

export interface SpoolEvent {
  /** SHA-256 over type, createdAt and the canonical JSON of the payload. */
  id: string
  /** Our clock, ms. */
  receivedAtMs: number
  workspaceId: string
  type: string
  /** Canonical JSON without secrets, UTF-8. */
  payload: Uint8Array
}

/** The event's id: of two deliveries the same, whatever the order of their keys. */
export function eventId({
  type,
  createdAt,
  payload,
}: {
  type: string
  createdAt: unknown
  payload: Uint8Array
}): string {
  const head = `${JSON.stringify([type, createdAt ?? null])}\n`
  return createHash('sha256').update(head).update(payload).digest('hex')
}

const CRC = /^\{"crc":"([0-9a-f]{8})",/
const CRC_BYTES = '{"crc":"00000000",'.length
const PAYLOAD = ',"payload":'
const END = Buffer.from('}\n')
const hex8 = (value: number): string => value.toString(16).padStart(8, '0')

/** The line in pieces, for one `writev` of many lines. */
export function linePieces(event: SpoolEvent, batch: number): Uint8Array[] {
  const { id, receivedAtMs, workspaceId, type, payload } = event
  const told = JSON.stringify({ batch, id, receivedAt: receivedAtMs, workspace: workspaceId, type })
  const body = `${told.slice(1, -1)}${PAYLOAD}`
  const crc = crc32('}', crc32(payload, crc32(body)))
  return [Buffer.from(`{"crc":"${hex8(crc)}",${body}`), payload, END]
}

export interface ReadLine extends SpoolEvent {
  batch: number
}

/** The event of a line, without its end of line; null where the line is not as it was written. */
export function readLine(line: Buffer): ReadLine | null {
  const told = CRC.exec(line.toString('latin1', 0, CRC_BYTES))?.[1]
  if (told === undefined || hex8(crc32(line.subarray(CRC_BYTES))) !== told) return null
  // Quotes within a string are escaped, so the first of these is the key.
  const at = line.indexOf(PAYLOAD)
  const head = JSON.parse(`${line.toString('utf8', 0, at)}}`) as {
    batch: number
    id: string
    receivedAt: number
    workspace: string
    type: string
  }
  const { batch, id, receivedAt, workspace, type } = head
  const payload = line.subarray(at + PAYLOAD.length, -1)
  return { batch, id, receivedAtMs: receivedAt, workspaceId: workspace, type, payload }
}
