// The drainer's view of a workspace's segments: sealed ones, and open ones whose writers have died.
import { rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { makeFolder, namesIn, syncFolder, writeOnce } from '../files/durable.ts'
import { linesOf } from './event-line.ts'
import { isSegment, type SpoolFolders, spoolFolders } from './folders.ts'
import { type ByteRange, damagedName, readSegment } from './read-segment.ts'

interface OpenSegment {
  name: string
  bytes: number
  /** True if the writer has touched the file within `SILENT_MS`. */
  writerLives: boolean
}

interface SealedAbandoned {
  name: string
  events: number
  torn: ByteRange[]
  damaged: ByteRange[]
}

/** Writers touch their open segments every five seconds. */
const SILENT_MS = 20_000

const isGone = (error: unknown): boolean => hasCode(error, 'ENOENT')

const segmentsIn = async (folder: string): Promise<string[]> => (await namesIn(folder)).filter(isSegment).sort()

/** Returns the files of the sealed segments, oldest first. @throws HOME_UNUSABLE */
export async function sealedSegments(home: string, workspaceId: string): Promise<string[]> {
  const { sealed } = spoolFolders(home, workspaceId)
  return (await segmentsIn(sealed)).map(name => join(sealed, name))
}

/** Returns segments that are open or were left open. `nowMs` is the machine's time, like times of files. @throws HOME_UNUSABLE */
export async function openSegments(home: string, workspaceId: string, nowMs: number): Promise<OpenSegment[]> {
  const { open } = spoolFolders(home, workspaceId)
  const found = await Promise.all(
    (await segmentsIn(open)).map(async name => {
      const about = await stat(join(open, name)).catch(() => null)
      return about && { name, bytes: about.size, writerLives: about.mtimeMs > nowMs - SILENT_MS }
    }),
  )
  return found.filter(segment => segment !== null)
}

/** Moves a segment away from its writer, which then acknowledges no further event in it. */
async function abandon(folders: SpoolFolders, name: string): Promise<void> {
  await rename(join(folders.open, name), join(folders.abandoned, name)).catch(error => {
    // The writer has sealed the segment after all, or another drainer has moved it.
    if (!isGone(error)) throw homeUnusable(join(folders.open, name), error)
  })
}

/** Copies the readable lines into a sealed segment and removes the file. A damaged file stays in `abandoned`, renamed, for diagnosis. */
async function recover(folders: SpoolFolders, name: string): Promise<SealedAbandoned[]> {
  const file = join(folders.abandoned, name)
  const reading = await readSegment(file).catch(error => {
    if (isGone(error.cause)) return null
    throw error
  })
  // Another drainer has recovered the segment.
  if (reading === null) return []
  const { events, torn, damaged } = reading
  if (events.length > 0)
    await writeOnce(join(folders.sealed, name), [linesOf(events, 0)]).catch(error => {
      // The writer sealed the segment before it was moved, or another drainer has sealed it.
      if (!hasCode(error, 'EEXIST')) throw error
    })
  await (damaged.length > 0 ? rename(file, damagedName(file)) : unlink(file)).catch(error => {
    if (!isGone(error)) throw homeUnusable(file, error)
  })
  return [{ name, events: events.length, torn, damaged }]
}

/**
 * Seals segments that dead writers have left open. An unreadable segment does not stop the others. Safe even if a writer
 * turns out to be alive or other processes do the same. @throws HOME_UNUSABLE for the first segment that could not be sealed
 */
export async function sealAbandoned(home: string, workspaceId: string, nowMs: number): Promise<SealedAbandoned[]> {
  const folders = spoolFolders(home, workspaceId)
  const left = (await openSegments(home, workspaceId, nowMs)).filter(({ writerLives }) => !writerLives)
  if (left.length > 0) {
    await makeFolder(folders.abandoned)
    await makeFolder(folders.sealed)
    for (const { name } of left) await abandon(folders, name)
    await syncFolder(folders.open)
  }
  const sealed: SealedAbandoned[] = []
  const failures: unknown[] = []
  // The folder may also contain segments that a killed drainer has left there.
  for (const name of await segmentsIn(folders.abandoned))
    await recover(folders, name).then(
      recovered => sealed.push(...recovered),
      error => failures.push(error),
    )
  if (failures.length > 0) throw failures[0]
  return sealed
}
