// The archive of applied events, one file a day: under load a segment is sealed each second, and that many files would slow down every
// listing. Only the process that drains the spool writes here.
//
//   spool/<workspace>/drained/2026-11-21.ndjson          the running day
//   spool/<workspace>/drained/2026-11-20.1.ndjson.gz     a past day
//
// A kill between two steps leaves lines in two places. Events are identified by their IDs, so duplicates are harmless.
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { link, open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { TransformOptions } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip, type ZlibOptions } from 'node:zlib'
import { homeUnusable } from '../core/disk.ts'
import { makeFolder, namesIn, sweepTemporary, syncFolder, temporaryName } from '../files/durable.ts'
import { type ReadLine, readLine } from './event-line.ts'
import { spoolFolders } from './folders.ts'

const ARCHIVED = /^\d{4}-\d{2}-\d{2}(\.ndjson|\.\d+\.ndjson\.gz)$/
const DAY_LENGTH = '2026-11-21'.length
const NEW_LINE = 0x0a

const isPlain = (name: string): boolean => ARCHIVED.test(name) && !name.endsWith('.gz')

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Appends durably. First ends a line that a kill has cut off: otherwise the next line would be unreadable, too. */
async function appendDurably(file: string, lines: Uint8Array): Promise<void> {
  const handle = await open(file, 'a+', 0o600)
  try {
    const { size } = await handle.stat()
    const last = size === 0 ? NEW_LINE : (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0]
    try {
      if (last !== NEW_LINE) await handle.appendFile('\n')
      await handle.appendFile(lines)
      await handle.datasync()
    } catch (error) {
      // The caller retries: without this, each retry would append again the lines that still fitted on a full disk.
      await handle.truncate(size).catch(() => {})
      throw error
    }
  } finally {
    await handle.close()
  }
}

/**
 * Moves applied segments into the day's file; true where that file is new. `copied` collects segments whose lines have been appended, so
 * that a retry only removes them. @throws HOME_UNUSABLE
 */
export async function archiveSegments(
  home: string,
  workspaceId: string,
  { segments, nowMs, copied }: { segments: readonly string[]; nowMs: number; copied: Set<string> },
): Promise<boolean> {
  if (segments.length === 0) return false
  const { drained, sealed } = spoolFolders(home, workspaceId)
  await makeFolder(drained)
  const file = join(drained, `${dayOf(nowMs)}.ndjson`)
  const isNew = !existsSync(file)
  try {
    for (const segment of segments.filter(name => !copied.has(name))) {
      await appendDurably(file, await readFile(segment))
      copied.add(segment)
    }
    if (isNew) await syncFolder(drained)
    for (const segment of segments) {
      await unlink(segment)
      copied.delete(segment)
    }
    await syncFolder(sealed)
  } catch (error) {
    throw homeUnusable(drained, error)
  }
  return isNew
}

/** Compresses past days, to a quarter of their size. @throws HOME_UNUSABLE */
export async function packArchive(home: string, workspaceId: string, nowMs: number): Promise<void> {
  const { drained } = spoolFolders(home, workspaceId)
  await sweepTemporary(drained)
  const names = await namesIn(drained)
  for (const name of names.filter(isPlain)) {
    const day = name.slice(0, DAY_LENGTH)
    if (day >= dayOf(nowMs)) continue
    // After the clock was set back, a day may have been archived before: the earlier archive stays.
    const packed = names.filter(other => other.startsWith(day) && !isPlain(other)).length
    await packDay(drained, name, `${day}.${packed + 1}.ndjson.gz`)
  }
}

async function packDay(folder: string, name: string, to: string): Promise<void> {
  const [plain, temporary] = [join(folder, name), join(folder, temporaryName())]
  try {
    await pipeline(createReadStream(plain), createGzip(), createWriteStream(temporary, { mode: 0o600 }))
    const handle = await open(temporary, 'r')
    await handle.sync()
    await handle.close()
    await link(temporary, join(folder, to))
    await unlink(temporary)
    await syncFolder(folder)
    await unlink(plain)
  } catch (error) {
    throw homeUnusable(plain, error)
  }
}

/** Files of applied events, oldest first. @throws HOME_UNUSABLE */
export async function archivedFiles(home: string, workspaceId: string): Promise<string[]> {
  const { drained } = spoolFolders(home, workspaceId)
  return (await namesIn(drained))
    .filter(name => ARCHIVED.test(name))
    .sort()
    .map(name => join(drained, name))
}

/** Bytes that are decompressed at a time. A damaged file loses everything in the piece that fails. */
const PIECES = { normal: 16 * 1024, damaged: 64 }

/** The decompressed lines of a file, as far as it can be read. @throws where it is truncated or damaged */
async function* linesIn(file: string, chunkSize: number): AsyncGenerator<Buffer> {
  const source = createReadStream(file)
  // An error discards the pieces in the stream's buffer, so the buffer holds only one. The types omit the stream options, which zlib accepts.
  const options: ZlibOptions & TransformOptions = { chunkSize, readableHighWaterMark: 1 }
  const unpacked = file.endsWith('.gz') ? source.pipe(createGunzip(options)) : source
  source.once('error', error => unpacked.destroy(error))
  let begun: Buffer[] = []
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      let from = 0
      for (let end = chunk.indexOf(NEW_LINE); end >= 0; end = chunk.indexOf(NEW_LINE, from)) {
        yield Buffer.concat([...begun, chunk.subarray(from, end)])
        begun = []
        from = end + 1
      }
      begun.push(chunk.subarray(from))
    }
  } finally {
    source.destroy()
  }
  yield Buffer.concat(begun)
}

/** All readable lines. */
async function* readableLines(file: string, damaged: (error: unknown) => void): AsyncGenerator<Buffer> {
  let read = 0
  try {
    for await (const line of linesIn(file, PIECES.normal)) {
      read += 1
      yield line
    }
    return
  } catch {
    // The file is damaged: read it again in small pieces, to get the last lines before the damage.
  }
  try {
    for await (const line of linesIn(file, PIECES.damaged)) if (--read < 0) yield line
  } catch (error) {
    damaged(error)
  }
}

/**
 * The events of an archived file, without unreadable lines. `damaged` receives the error of a file that cannot be read to its end.
 */
export async function* archivedEvents(file: string, damaged: (error: unknown) => void): AsyncGenerator<ReadLine> {
  for await (const line of readableLines(file, damaged)) {
    const event = readLine(line)
    if (event) yield event
  }
}
