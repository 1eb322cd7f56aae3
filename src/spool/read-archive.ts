// Reads archived events: all of a file, or one by its address.
import { createReadStream, existsSync } from 'node:fs'
import type { TransformOptions } from 'node:stream'
import { createGunzip, type ZlibOptions } from 'node:zlib'
import { diskErrorText } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { archiveFile, type EventAddress } from './archive.ts'
import { type ReadLine, readLine } from './event-line.ts'

const NEW_LINE = 0x0a

interface Line {
  bytes: Buffer
  /** Offset of its first byte in the decompressed file. */
  offset: number
}

/** Yields the decompressed lines of a file, as far as it can be read. @throws if it is truncated or damaged */
export async function* linesIn(file: string): AsyncGenerator<Line> {
  const source = createReadStream(file)
  // An error discards the buffer of the stream, so it holds only one piece. The types omit the stream options, which zlib accepts.
  const options: ZlibOptions & TransformOptions = { readableHighWaterMark: 1 }
  const unpacked = file.endsWith('.gz') ? source.pipe(createGunzip(options)) : source
  source.once('error', error => unpacked.destroy(error))
  let begun: Buffer[] = []
  let offset = 0
  const line = (end: Buffer): Line => {
    const bytes = begun.length === 0 ? end : Buffer.concat([...begun, end])
    const read = { bytes, offset }
    offset += bytes.length + 1
    begun = []
    return read
  }
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      let from = 0
      for (let end = chunk.indexOf(NEW_LINE); end >= 0; end = chunk.indexOf(NEW_LINE, from)) {
        yield line(chunk.subarray(from, end))
        from = end + 1
      }
      if (from < chunk.length) begun.push(chunk.subarray(from))
    }
  } finally {
    source.destroy()
  }
  yield line(Buffer.alloc(0))
}

/** An event of an archive file. */
export interface ArchivedEvent extends ReadLine {
  offset: number
}

/**
 * Yields the events of an archive file, without unreadable lines. `damaged` receives the error of a file that cannot be read to its end.
 */
export async function* archivedEvents(file: string, damaged: (error: unknown) => void): AsyncGenerator<ArchivedEvent> {
  try {
    for await (const { bytes, offset } of linesIn(file)) {
      const event = readLine(bytes)
      if (event) yield { ...event, offset }
    }
  } catch (error) {
    damaged(error)
  }
}

const notThere = ({ file, offset }: EventAddress, why: string): ConvohouseError =>
  new ConvohouseError('SPOOL_CORRUPT', {
    what: `The payload of the event cannot be read: ${file}, byte ${offset}: ${why}.`,
    hint: 'Restore that file of the spool from a backup. If it has expired (`retention.events`), its payloads are gone.',
    facts: { file, offset },
  })

/** Returns the line at an offset of a plain file; `null` if the file ends before it. */
async function lineAt(file: string, offset: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { start: offset }) as AsyncIterable<Buffer>) {
    const end = chunk.indexOf(NEW_LINE)
    chunks.push(end < 0 ? chunk : chunk.subarray(0, end))
    if (end >= 0) break
  }
  return chunks.length === 0 ? null : Buffer.concat(chunks)
}

async function packedLineAt(file: string, offset: number): Promise<Buffer | null> {
  for await (const line of linesIn(file)) if (line.offset === offset) return line.bytes
  return null
}

/** Returns one archived event. In a compressed file, decompresses everything before it. @throws SPOOL_CORRUPT */
export async function archivedEvent(home: string, address: EventAddress): Promise<ReadLine> {
  const plain = archiveFile(home, address)
  const packed = `${plain}.gz`
  try {
    const line = await (existsSync(plain) || !existsSync(packed)
      ? lineAt(plain, address.offset)
      : packedLineAt(packed, address.offset))
    const event = line && readLine(line)
    if (event) return event
  } catch (error) {
    throw notThere(address, diskErrorText(error))
  }
  throw notThere(address, 'there is no readable event')
}
