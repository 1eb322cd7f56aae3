// Erases events from a workspace's spool. In an archive, spaces replace the line, so that the address of every other event
// stays valid; a sealed segment has no addresses yet, so it loses the line.
import { createWriteStream } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { diskErrorText } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { removeFiles, replaceFile, syncFile, temporaryName, writeOnce } from '../files/durable.ts'
import { archivedFiles } from './archive.ts'
import { linesOf, readLine, type SpoolEvent } from './event-line.ts'
import { linesIn } from './read-archive.ts'
import { damagedFiles, readSegment } from './read-segment.ts'
import { sealedSegments } from './segments.ts'

export interface ErasedEvents {
  /** Number of events and unreadable lines that were in archives and in sealed segments. */
  events: number
  /** Number of archives and segments that were rewritten. */
  files: number
  /** Number of files that were kept for their unreadable lines, and were removed. */
  damaged: number
}

/** `null` stands for an unreadable line. */
type IsErased = (event: SpoolEvent | null) => boolean

/** Yields a file's bytes with spaces for the lines at these offsets. */
async function* blanked(file: string, offsets: ReadonlySet<number>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const { bytes, offset } of linesIn(file)) {
    if (!isFirst) yield Buffer.from('\n')
    isFirst = false
    if (bytes.length > 0) yield offsets.has(offset) ? Buffer.alloc(bytes.length, ' ') : bytes
  }
}

const SPACE = 0x20

async function eraseFromArchive(file: string, isErased: IsErased, dryRun: boolean): Promise<number> {
  const offsets = new Set<number>()
  const temporary = join(dirname(file), temporaryName())
  try {
    for await (const { bytes, offset } of linesIn(file)) {
      const isBlank = bytes.every(byte => byte === SPACE)
      if (!isBlank && isErased(readLine(bytes))) offsets.add(offset)
    }
    if (offsets.size === 0 || dryRun) return offsets.size
    const packing = file.endsWith('.gz') ? createGzip() : new PassThrough()
    await pipeline(Readable.from(blanked(file, offsets)), packing, createWriteStream(temporary, { mode: 0o600 }))
    await syncFile(temporary)
    await replaceFile(file, temporary)
    return offsets.size
  } catch (cause) {
    await unlink(temporary).catch(() => {})
    throw new ConvohouseError('SPOOL_CORRUPT', {
      what: `The events in ${file} cannot all be read (${diskErrorText(cause)}), so nobody can tell whether the person is among them.`,
      hint: 'Restore that file from a backup, or delete it: its events stay in the tables, without payloads. Then run the same command again.',
      cause,
      facts: { file: basename(file) },
    })
  }
}

async function eraseFromSegment(file: string, isErased: IsErased, dryRun: boolean): Promise<number> {
  const { events, torn, damaged } = await readSegment(file)
  const kept = events.filter(event => !isErased(event))
  const unreadable = isErased(null) ? torn.length + damaged.length : 0
  const erased = events.length - kept.length + unreadable
  if (erased === 0 || dryRun) return erased
  const temporary = join(dirname(file), temporaryName())
  await writeOnce(temporary, [linesOf(kept, 0)])
  await replaceFile(file, temporary)
  return erased
}

/** Erases events from a sealed segment. @returns their number @throws HOME_UNUSABLE */
export const eraseSealed = (segment: string, isErased: IsErased): Promise<number> =>
  eraseFromSegment(segment, isErased, false)

/**
 * Erases events from archives and sealed segments, and removes files that are kept because some of their lines are
 * unreadable. Segments that are open are erased when they are drained. Only while nobody drains.
 * @throws HOME_UNUSABLE; SPOOL_CORRUPT for an archive that cannot be read to its end
 */
export async function eraseEvents(
  { home, workspaceId, dryRun }: { home: string; workspaceId: string; dryRun: boolean },
  isErased: IsErased,
): Promise<ErasedEvents> {
  const counts: ErasedEvents = { events: 0, files: 0, damaged: 0 }
  const count = (events: number) => {
    counts.events += events
    if (events > 0) counts.files += 1
  }
  for (const file of await archivedFiles(home, workspaceId, { both: true }))
    count(await eraseFromArchive(file, isErased, dryRun))
  for (const file of await sealedSegments(home, workspaceId)) count(await eraseFromSegment(file, isErased, dryRun))
  const damaged = await damagedFiles(home, workspaceId)
  if (!dryRun) await removeFiles(damaged)
  return { ...counts, damaged: damaged.length }
}
