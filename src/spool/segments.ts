// The segments of a workspace, for whoever drains them: the sealed ones, and the open ones whose writers are gone.
import { rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { isCode } from '../core/errors.ts'
import { makeFolder, namesIn, syncFolder, writeOnce } from '../files/durable.ts'
import { damagedName } from './damaged.ts'
import { linesOf } from './event-line.ts'
import { isSegment, type SpoolFolders, spoolFolders } from './folders.ts'
import { type ByteRange, readSegment } from './read-segment.ts'

export interface OpenSegment {
  name: string
  bytes: number
  /** Its writer has said so in the last seconds. */
  writerLives: boolean
}

export interface SealedAbandoned {
  name: string
  events: number
  torn: ByteRange[]
  damaged: ByteRange[]
}

/** A writer touches its open segments every five seconds. */
const SILENT_MS = 20_000

const isGone = (error: unknown): boolean => hasCode(error, 'ENOENT')

const segmentsIn = async (folder: string): Promise<string[]> => (await namesIn(folder)).filter(isSegment).sort()

/** Files of the sealed segments, oldest first: whole, and never changed again. DuckDB reads them as NDJSON. @throws HOME_UNUSABLE */
export async function sealedSegments(home: string, workspaceId: string): Promise<string[]> {
  const { sealed } = spoolFolders(home, workspaceId)
  return (await segmentsIn(sealed)).map(name => join(sealed, name))
}

/** The segments that somebody writes, or has left open. `nowMs` is the machine's time, as the times of files are. @throws HOME_UNUSABLE */
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

/** Moves it away under its writer, who then acknowledges nothing of it any more. */
async function abandon(folders: SpoolFolders, name: string): Promise<void> {
  await rename(join(folders.open, name), join(folders.abandoned, name)).catch(error => {
    // Sealed by its writer after all, or moved by another.
    if (!isGone(error)) throw homeUnusable(join(folders.open, name), error)
  })
}

/**
 * Takes the whole lines over into a sealed segment. The file itself is removed, unless some of it has been damaged: then it
 * stays in `abandoned`, renamed, for whoever wants to look into it.
 */
async function takeOver(folders: SpoolFolders, name: string): Promise<SealedAbandoned[]> {
  const file = join(folders.abandoned, name)
  const reading = await readSegment(file).catch(error => {
    if (isGone(error.cause)) return null
    throw error
  })
  // By another who does the same.
  if (reading === null) return []
  const { events, torn, damaged } = reading
  if (events.length > 0)
    await writeOnce(join(folders.sealed, name), [linesOf(events, 0)]).catch(error => {
      // Sealed by its writer before it was moved, or by another.
      if (!isCode(error, 'LANDING_TAKEN')) throw error
    })
  await (damaged.length > 0 ? rename(file, damagedName(file)) : unlink(file)).catch(error => {
    if (!isGone(error)) throw homeUnusable(file, error)
  })
  return [{ name, events: events.length, torn, damaged }]
}

/** Seals what writers that are gone have left open; one that cannot be read keeps no other from it. Safe beside a writer that lives after all, and beside others who do the same. @throws HOME_UNUSABLE */
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
  // With those that a kill left here.
  const failures: unknown[] = []
  for (const name of await segmentsIn(folders.abandoned))
    await takeOver(folders, name).then(
      taken => sealed.push(...taken),
      error => failures.push(error),
    )
  if (failures.length > 0) throw failures[0]
  return sealed
}
