// The archive of events has one file per day: under load a segment is sealed each second, and that many files would
// slow down every listing. Only the process that drains the spool writes here. A segment is appended before its events
// are applied, so that each event has an address, which its row in `webhook_events` keeps instead of the payload.
//
//   spool/<workspace>/drained/2026-11-21.ndjson the running day
//   spool/<workspace>/drained/2026-11-20.ndjson.gz a past day
//
// A kill between two steps leaves lines in two places. Events are identified by their IDs, so duplicates are harmless.
import { createReadStream, createWriteStream } from 'node:fs'
import { link, open, readFile, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { homeUnusable } from '../core/disk.ts'
import { DAY } from '../core/time.ts'
import { makeFolder, namesIn, removeFiles, sweepTemporary, syncFolder, temporaryName } from '../files/durable.ts'
import { appendJsonLines, readJsonLines } from '../files/line-log.ts'
import { spoolFolders, spoolRoot } from './folders.ts'

/** Position of an event's line. It stays valid when the file is compressed. */
export interface EventAddress {
  /** The archive file, relative to the spool, without `.gz`. */
  file: string
  /** Offset of the line's first byte in the decompressed file. */
  offset: number
}

const ARCHIVED = /^\d{4}-\d{2}-\d{2}(\.\d+)?\.ndjson(\.gz)?$/
const PACKED = '.gz'
const DAY_LENGTH = '2026-11-21'.length
const NEW_LINE = 0x0a

const isPlain = (name: string): boolean => !name.endsWith(PACKED)
const plainName = (name: string): string => (isPlain(name) ? name : name.slice(0, -PACKED.length))

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Returns the name of an archive file in addresses. */
export const archiveName = (home: string, file: string): string => plainName(relative(spoolRoot(home), file))

/** Returns the archive file of an address, with its name before compression. */
export const archiveFile = (home: string, { file }: EventAddress): string => join(spoolRoot(home), file)

const archiveNames = async (folder: string): Promise<string[]> =>
  (await namesIn(folder)).filter(name => ARCHIVED.test(name)).sort()

/**
 * Appends durably. First ends a line that a kill has cut off, since otherwise the next line would also be unreadable.
 * @returns the offset of the first appended byte
 */
async function appendDurably(file: string, parts: readonly Uint8Array[]): Promise<number> {
  const handle = await open(file, 'a+', 0o600)
  try {
    const { size } = await handle.stat()
    const last = size === 0 ? NEW_LINE : (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0]
    try {
      if (last !== NEW_LINE) await handle.appendFile('\n')
      for (const part of parts) await handle.appendFile(part)
      await handle.datasync()
    } catch (error) {
      // The caller retries. Without this, each retry would append again the lines that still fitted on a full disk.
      await handle.truncate(size).catch(() => {})
      throw error
    }
    return last === NEW_LINE ? size : size + 1
  } finally {
    await handle.close()
  }
}

/** Returns the day's file. After a clock change the day may be compressed, and addresses into that file must stay valid. */
function fileOfDay(names: readonly string[], day: string): string {
  for (let n = 0; ; n++) {
    const name = n === 0 ? `${day}.ndjson` : `${day}.${n}.ndjson`
    if (!names.includes(name + PACKED)) return name
  }
}

/** A sealed segment and its bytes. */
export interface SegmentBytes {
  segment: string
  bytes: Buffer
}

/** Appends segments to the day's file, with one sync. @returns the address of each segment's first byte. @throws HOME_UNUSABLE */
export async function archiveSegments(
  home: string,
  workspaceId: string,
  { segments, nowMs }: { segments: readonly SegmentBytes[]; nowMs: number },
): Promise<Map<string, EventAddress>> {
  const { drained } = spoolFolders(home, workspaceId)
  await makeFolder(drained)
  const addresses = new Map<string, EventAddress>()
  try {
    const names = await archiveNames(drained)
    const name = fileOfDay(names, dayOf(nowMs))
    const file = join(drained, name)
    // A segment whose last line was torn does not end with a line feed.
    const parts = segments.map(({ bytes }) =>
      bytes.length > 0 && bytes.at(-1) !== NEW_LINE ? Buffer.concat([bytes, Buffer.from('\n')]) : bytes,
    )
    let offset = await appendDurably(file, parts)
    if (!names.includes(name)) await syncFolder(drained)
    for (const [index, { segment }] of segments.entries()) {
      addresses.set(segment, { file: archiveName(home, file), offset })
      offset += parts[index]!.length
    }
  } catch (error) {
    throw homeUnusable(drained, error)
  }
  return addresses
}

/**
 * Finds the segments that a killed process had appended but not removed. Their bytes are at the end of the last written file.
 * @throws HOME_UNUSABLE
 */
export async function archivedBefore(
  home: string,
  workspaceId: string,
  segments: readonly string[],
): Promise<Map<string, EventAddress>> {
  const { drained } = spoolFolders(home, workspaceId)
  const found = new Map<string, EventAddress>()
  if (segments.length === 0) return found
  try {
    const plain = (await archiveNames(drained)).filter(isPlain).map(name => join(drained, name))
    const files = await Promise.all(plain.map(async file => ({ file, stat: await stat(file) })))
    const [last] = files.sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs)
    if (!last) return found
    const sizes = await Promise.all(segments.map(async segment => (await stat(segment)).size))
    const slack = segments.length + 1
    const from = Math.max(0, last.stat.size - slack - sizes.reduce((sum, size) => sum + size, 0))
    const tail = await readFrom(last.file, from)
    for (const segment of segments) {
      const bytes = await readFile(segment).catch(() => Buffer.alloc(0))
      const at = bytes.length === 0 ? -1 : tail.indexOf(bytes)
      if (at >= 0) found.set(segment, { file: archiveName(home, last.file), offset: from + at })
    }
  } catch (error) {
    throw homeUnusable(drained, error)
  }
  return found
}

async function readFrom(file: string, start: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { start })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Removes segments whose events are archived and applied. @throws HOME_UNUSABLE */
export async function removeSegments(segments: readonly string[]): Promise<void> {
  const [first] = segments
  if (first === undefined) return
  try {
    for (const segment of segments) await unlink(segment)
    await syncFolder(dirname(first))
  } catch (error) {
    throw homeUnusable(first, error)
  }
}

/** Compresses past days, to a quarter of their size. @throws HOME_UNUSABLE */
export async function packArchive(home: string, workspaceId: string, nowMs: number): Promise<void> {
  const { drained } = spoolFolders(home, workspaceId)
  await sweepTemporary(drained)
  for (const name of (await archiveNames(drained)).filter(isPlain))
    if (name.slice(0, DAY_LENGTH) < dayOf(nowMs)) await packDay(join(drained, name))
}

async function packDay(plain: string): Promise<void> {
  const folder = dirname(plain)
  const temporary = join(folder, temporaryName())
  try {
    // If a kill left both files, the compressed one is complete, since no line is appended after it exists.
    if (!(await namesIn(folder)).includes(basename(plain) + PACKED)) {
      await pipeline(createReadStream(plain), createGzip(), createWriteStream(temporary, { mode: 0o600 }))
      const handle = await open(temporary, 'r')
      await handle.sync()
      await handle.close()
      await link(temporary, plain + PACKED)
      await unlink(temporary)
      await syncFolder(folder)
    }
    await unlink(plain)
  } catch (error) {
    throw homeUnusable(plain, error)
  }
}

/** Returns the archive files, oldest first. If a kill left a day in both forms, returns the plain one, or `both`. @throws HOME_UNUSABLE */
export async function archivedFiles(home: string, workspaceId: string, { both = false } = {}): Promise<string[]> {
  const { drained } = spoolFolders(home, workspaceId)
  const names = await archiveNames(drained)
  return names
    .filter(name => both || isPlain(name) || !names.includes(plainName(name)))
    .map(name => join(drained, name))
}

export interface ExpiredArchive {
  files: number
  bytes: number
}

const RECORD = 'expired.ndjson'

/** An entry of the record: the name of an archive file, and when it expired. */
interface Recorded {
  file: string
  expiredMs: number
}

/** Counts the archive files that have expired. @throws HOME_UNUSABLE */
export async function expiredArchives(home: string, workspaceId: string): Promise<number> {
  const recorded = await readJsonLines<Recorded>(join(spoolFolders(home, workspaceId).drained, RECORD), 'file')
  // A kill between the record and the removal leaves a file on record twice.
  return new Set(recorded.map(({ file }) => file)).size
}

/** Returns the end of the day that an archive file is named after, ms. */
const endOf = (file: string): number => Date.parse(basename(file).slice(0, DAY_LENGTH)) + DAY

/**
 * Removes the archive files of days that ended by `beforeMs`. Records their names first, in a file beside them. With
 * `dryRun`, only counts them. @throws HOME_UNUSABLE
 */
export async function expireArchive(
  home: string,
  workspaceId: string,
  { beforeMs, nowMs, dryRun }: { beforeMs: number; nowMs: number; dryRun: boolean },
): Promise<ExpiredArchive> {
  const { drained } = spoolFolders(home, workspaceId)
  const files = (await archivedFiles(home, workspaceId)).filter(file => endOf(file) <= beforeMs)
  const sizes = await Promise.all(files.map(file => stat(file).then(({ size }) => size)))
  const expired = { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
  if (dryRun || files.length === 0) return expired
  const entries = files.map((file): Recorded => ({ file: basename(file), expiredMs: nowMs }))
  await appendJsonLines(join(drained, RECORD), entries)
  await removeFiles(files)
  return expired
}
