// Reads a segment: its events and its unreadable bytes. Segments that were damaged after their events had been acknowledged are kept for
// diagnosis; their readable events are applied.
//
//   spool/<workspace>/sealed/NAME.damaged       all events had been acknowledged
//   spool/<workspace>/abandoned/NAME.damaged    events up to the last sync had been acknowledged
import { link, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { compactTime } from '../core/time.ts'
import { namesIn, syncFolder } from '../files/durable.ts'
import { type ReadLine, readLine } from './event-line.ts'
import { isSegment, spoolFolders } from './folders.ts'

/** Position of an unreadable line. */
export interface ByteRange {
  at: number
  bytes: number
}

export interface SegmentReading {
  /** Events, each with the offset of its line. */
  events: (ReadLine & { at: number })[]
  /** Unreadable lines of the last batch, which a kill or a full disk cut off. They were never acknowledged. */
  torn: ByteRange[]
  /** Unreadable lines before the last batch, which were acknowledged and have been damaged since. */
  damaged: ByteRange[]
}

const NEW_LINE = 0x0a

/** Classifies the lines of a segment. */
export function readLines(bytes: Buffer): SegmentReading {
  const events: SegmentReading['events'] = []
  const unreadable: ByteRange[] = []
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(NEW_LINE, at)
    const end = found < 0 ? bytes.length : found
    const event = found < 0 ? null : readLine(bytes.subarray(at, end))
    if (event) events.push({ ...event, at })
    else unreadable.push({ at, bytes: end + 1 - at - (found < 0 ? 1 : 0) })
    at = end + 1
  }
  const lastSync = events.at(-1)?.batch ?? 0
  return {
    events,
    torn: unreadable.filter(({ at }) => at >= lastSync),
    damaged: unreadable.filter(({ at }) => at < lastSync),
  }
}

/** @throws HOME_UNUSABLE if the file cannot be read at all */
export async function readSegment(file: string): Promise<SegmentReading & { bytes: Buffer }> {
  const bytes = await readFile(file).catch(cause => {
    throw homeUnusable(file, cause)
  })
  return { ...readLines(bytes), bytes }
}

const ENDING = '.damaged'

export const damagedName = (segment: string): string => `${segment}${ENDING}`

/** Gives a sealed segment a second name, which stays when the segment is archived. @throws HOME_UNUSABLE */
export async function keepDamaged(segment: string): Promise<void> {
  try {
    await link(segment, damagedName(segment))
    await syncFolder(dirname(segment))
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw homeUnusable(segment, error)
  }
}

/** @throws HOME_UNUSABLE */
export async function damagedFiles(home: string, workspaceId: string): Promise<string[]> {
  const { sealed, abandoned } = spoolFolders(home, workspaceId)
  const found = await Promise.all(
    [sealed, abandoned].map(async folder =>
      (await namesIn(folder))
        .filter(name => name.endsWith(ENDING) && isSegment(name.slice(0, -ENDING.length)))
        .map(name => join(folder, name)),
    ),
  )
  return found.flat().sort()
}

interface Damage {
  /** The segment's name. */
  segment: string
  /** Time when the segment was opened, according to its name, ms. */
  begunMs: number
  lines: number
  bytes: number
}

/** @throws HOME_UNUSABLE */
export async function damageIn(file: string): Promise<Damage> {
  const segment = basename(file, ENDING)
  const { torn, damaged } = await readSegment(file)
  // A sealed segment was written completely, so unreadable bytes at its end are also damage.
  const ranges = basename(dirname(file)) === 'sealed' ? [...torn, ...damaged] : damaged
  return {
    segment,
    begunMs: compactTime(segment),
    lines: ranges.length,
    bytes: ranges.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}
