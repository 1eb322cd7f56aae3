// The lossless format of convohouse's own client: frames of Node's structured clone (`v8.serialize`), which supports
// 64-bit integers, NaN, infinities and minus zero. A frame is its length (4 bytes, big endian) and one message: the
// columns, then batches, then the end or an error. An answer without either was cut off.
import { deserialize, serialize } from 'node:v8'
import type { Batch, Column, QueryResult, Tally } from '../results.ts'

/** Names the version of the encoding, so that a holder with another version of Node refuses the request. */
export const CELLS_MEDIA_TYPE = `application/vnd.convohouse.cells.v${serialize(null)[1]}`

/** An error as clients see it: its stable code, its message and its hint. */
export interface ErrorBody {
  code: string
  what: string
  hint?: string | undefined
}

export type CellsMessage = { columns: Column[] } | { batch: Batch } | { end: Tally } | { error: ErrorBody }

/** Yields a frame for the columns, one per batch, and one for the end. @throws the query's failure */
export async function* cells(result: QueryResult): AsyncGenerator<Buffer> {
  yield encodeFrame({ columns: result.columns })
  for await (const batch of result.batches) yield encodeFrame({ batch })
  yield encodeFrame({ end: result.tally() })
}

const LENGTH_BYTES = 4

export function encodeFrame(message: CellsMessage): Buffer {
  const bytes = serialize(message)
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** Reads the messages from pieces of bytes; drops an incomplete last frame. */
export async function* readFrames(pieces: AsyncIterable<Buffer>): AsyncGenerator<CellsMessage> {
  let held: Buffer[] = []
  let size = 0
  let needed = LENGTH_BYTES
  for await (const piece of pieces) {
    held.push(piece)
    size += piece.length
    if (size < needed) continue
    // Joined once per frame, so that a large one is not copied with each piece.
    let bytes = Buffer.concat(held)
    while (bytes.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + bytes.readUInt32BE()
      if (bytes.length < end) break
      yield deserialize(bytes.subarray(LENGTH_BYTES, end)) as CellsMessage
      bytes = bytes.subarray(end)
    }
    held = [bytes]
    size = bytes.length
    needed = size < LENGTH_BYTES ? LENGTH_BYTES : LENGTH_BYTES + bytes.readUInt32BE()
  }
}
