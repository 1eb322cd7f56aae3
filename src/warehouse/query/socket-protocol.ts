// What the two ends of the socket say to each other.
//
//   client                            server
//     query  ───────────────────────▶
//            ◀──────────────────────── columns, rows…, end        (format: rows or columns, the `Taker`)
//            ◀──────────────────────── bytes…, end                (format: parquet)
//            ◀──────────────────────── error                      (instead of any of these)
//
// One query a connection; closing it stops the query. A frame is two lengths (uint32, big-endian), a header in JSON,
// and a payload: rows as `encodeBatch` writes them, or a piece of a Parquet file.

import type { Socket } from 'node:net'
import { ConvohouseError, ERRORS, type ErrorCode } from '../../core/errors.ts'
import type { ResultLayout } from './casts.ts'
import type { Column } from './results.ts'

/** Goes up whenever the two ends would misunderstand each other. */
export const PROTOCOL = 2

export interface QueryMessage {
  kind: 'query'
  protocol: number
  sql: string
  format: ResultLayout | 'parquet'
  timeoutMs: number
  maxRows: number | null
}

export type AnswerMessage =
  | { kind: 'columns'; columns: Column[] }
  | { kind: 'rows' }
  | { kind: 'bytes' }
  | { kind: 'end'; rows: number; truncated: boolean }
  | { kind: 'error'; code: string; what: string; hint?: string }

export type Message = QueryMessage | AnswerMessage

export interface Frame<M extends Message> {
  message: M
  payload: Buffer
}

const LENGTHS = 8
const NO_PAYLOAD = Buffer.alloc(0)

export function encodeFrame(message: Message, payload: Uint8Array = NO_PAYLOAD): Buffer {
  const header = Buffer.from(JSON.stringify(message))
  const lengths = Buffer.alloc(LENGTHS)
  lengths.writeUInt32BE(header.length, 0)
  lengths.writeUInt32BE(payload.length, 4)
  return Buffer.concat([lengths, header, payload])
}

/**
 * Writes a frame and waits until the other end has taken enough for more: what lies in memory stays one frame and
 * the socket's buffer, however slow the reader is.
 *
 * @throws INTERRUPTED where the other end has gone
 */
export async function sendFrame(socket: Socket, message: Message, payload?: Uint8Array): Promise<void> {
  if (socket.destroyed) throw gone()
  if (socket.write(encodeFrame(message, payload))) return
  await new Promise<void>((resolve, reject) => {
    const settle = () => {
      socket.off('drain', settle).off('close', settle)
      if (socket.destroyed) reject(gone())
      else resolve()
    }
    socket.on('drain', settle).on('close', settle)
  })
}

/**
 * The frames that come over a socket, until it ends. Read slowly, it makes the sender wait.
 *
 * @throws INTERRUPTED where it ends inside a frame, or a frame is longer than `longest` bytes
 */
export async function* readFrames<M extends Message>(
  source: AsyncIterable<Buffer>,
  longest: number,
): AsyncGenerator<Frame<M>> {
  let pieces: Buffer[] = []
  let held = 0
  let needed = LENGTHS
  for await (const piece of source) {
    pieces.push(piece)
    held += piece.length
    // Pieces are joined only when they hold a whole frame, so that a long one is not copied once a piece.
    while (held >= needed) {
      const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      needed = frameLength(all, longest)
      if (held >= needed) {
        yield decodeFrame<M>(all, needed)
        pieces = [all.subarray(needed)]
        held -= needed
        needed = LENGTHS
      } else pieces = [all]
    }
  }
  if (held > 0) throw gone()
}

function frameLength(bytes: Buffer, longest: number): number {
  const length = LENGTHS + bytes.readUInt32BE(0) + bytes.readUInt32BE(4)
  if (length > longest) throw new ConvohouseError('INTERRUPTED', { what: `A message of ${length} bytes is too long.` })
  return length
}

function decodeFrame<M extends Message>(bytes: Buffer, length: number): Frame<M> {
  const payloadFrom = LENGTHS + bytes.readUInt32BE(0)
  const message = JSON.parse(bytes.toString('utf8', LENGTHS, payloadFrom)) as M
  return { message, payload: bytes.subarray(payloadFrom, length) }
}

export function errorMessage(error: ConvohouseError): AnswerMessage {
  const { code, message: what, hint } = error
  return { kind: 'error', code, what, ...(hint !== undefined && { hint }) }
}

/** The error that the other end told. A code that only a newer convohouse knows is told as SQL_INVALID. */
export function toldError({ code, what, hint }: { code: string; what: string; hint?: string }): ConvohouseError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'SQL_INVALID'
  return new ConvohouseError(known, { what, ...(hint !== undefined && { hint }) })
}

export const gone = () =>
  new ConvohouseError('INTERRUPTED', {
    what: 'The other end of the query socket has gone.',
    hint: 'Ask again; the process that held the warehouse may have ended.',
  })
