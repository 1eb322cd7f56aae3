// A line of a segment: one event, with a checksum of the rest of the line.
//
//   {"crc":"7d1e0c5a","batch":81920,"id":"9f…","receivedAt":1763745000123,"workspace":"ws_demo","type":"…","payload":{…}}
//
// `removed` counts the secrets that were removed from the payload, by path.
//
// `batch` is the file offset of the first line that was synced together with this one. Everything before that offset was durable when these
// lines were written. So unreadable bytes after the last batch's offset were never acknowledged: a kill tore them. Unreadable bytes before
// it were acknowledged and have been damaged since.
import { crc32 } from 'node:zlib'

export interface SpoolEvent {
  /** SHA-256 over type, createdAt and the payload. */
  id: string
  /** Local clock, ms. */
  receivedAtMs: number
  workspaceId: string
  type: string
  /** Canonical JSON without secrets, UTF-8, on one line. */
  payload: Uint8Array
  /** Number of removed secrets, by path; omitted if there were none. */
  removed?: Readonly<Record<string, number>>
}

const CRC = /^\{"crc":"([0-9a-f]{8})",/
const CRC_AT = '{"crc":"'.length
const CRC_BYTES = '{"crc":"00000000",'.length
const PAYLOAD = ',"payload":'
const END = '}\n'
const hex8 = (value: number): string => value.toString(16).padStart(8, '0')

/** Returns a line up to its payload, with zeros for the checksum. */
function headOf({ id, receivedAtMs, workspaceId, type, removed }: SpoolEvent, batch: number): string {
  const fields = `"batch":${batch},"id":${JSON.stringify(id)},"receivedAt":${receivedAtMs}`
  const removedField = removed ? `,"removed":${JSON.stringify(removed)}` : ''
  return `{"crc":"00000000",${fields},"workspace":${JSON.stringify(workspaceId)},"type":${JSON.stringify(type)}${removedField}${PAYLOAD}`
}

const HEX = Buffer.from('0123456789abcdef')

/** Writes eight hex digits. Formatting a string first takes three times as long. */
function writeHex8(value: number, to: Buffer, at: number): void {
  for (let digit = 0; digit < 8; digit++) to[at + digit] = HEX[(value >>> (28 - 4 * digit)) & 0xf]!
}

/**
 * Returns the lines of events that are synced together, for one write: assembled in `buffer` if they fit, else in new
 * memory. Passing three pieces per line to `writev` costs twice as much as copying them.
 */
export function linesOf(events: readonly SpoolEvent[], batch: number, buffer: Buffer = Buffer.alloc(0)): Buffer {
  const heads = events.map(event => headOf(event, batch))
  const lengths = events.map(({ payload }, index) => Buffer.byteLength(heads[index]!) + payload.length + END.length)
  const length = lengths.reduce((sum, own) => sum + own, 0)
  const lines = length <= buffer.length ? buffer.subarray(0, length) : Buffer.allocUnsafe(length)
  let begin = 0
  for (const [index, { payload }] of events.entries()) {
    const end = begin + lengths[index]!
    lines.write(heads[index]!, begin)
    lines.set(payload, end - END.length - payload.length)
    lines.write(END, end - END.length, 'latin1')
    writeHex8(crc32(lines.subarray(begin + CRC_BYTES, end - 1)), lines, begin + CRC_AT)
    begin = end
  }
  return lines
}

export interface ReadLine extends SpoolEvent {
  batch: number
}

/** Parses a line without its line feed; null if the checksum does not match. */
export function readLine(line: Buffer): ReadLine | null {
  const crc = CRC.exec(line.toString('latin1', 0, CRC_BYTES))?.[1]
  if (crc === undefined || hex8(crc32(line.subarray(CRC_BYTES))) !== crc) return null
  // Quotes within strings are escaped, so the first occurrence is the key.
  const at = line.indexOf(PAYLOAD)
  const head = JSON.parse(`${line.toString('utf8', 0, at)}}`) as {
    batch: number
    id: string
    receivedAt: number
    workspace: string
    type: string
    removed?: Record<string, number>
  }
  const { batch, id, receivedAt, workspace, type, removed } = head
  const payload = line.subarray(at + PAYLOAD.length, -1)
  return { batch, id, receivedAtMs: receivedAt, workspaceId: workspace, type, payload, ...(removed && { removed }) }
}

const NONE: Buffer = Buffer.alloc(0)

/**
 * The memory in which lines are assembled for a write, reused for every batch. Allocating it costs as much as filling
 * it, and allocating that much three times a second under load made V8 run a full garbage collection each time.
 */
export class WriteBuffer {
  private memory = NONE

  /** Returns the lines of one batch; valid until the next call. */
  linesOf(events: readonly SpoolEvent[], batch: number): Buffer {
    const lines = linesOf(events, batch, this.memory)
    if (lines.length > this.memory.length) this.memory = lines
    return lines
  }

  /** Frees the memory while no events arrive. */
  release(): void {
    this.memory = NONE
  }
}
