// Segments that were damaged after their events had been acknowledged. Their readable events are applied; the file is kept for diagnosis.
//
//   spool/<workspace>/sealed/NAME.damaged       all events had been acknowledged
//   spool/<workspace>/abandoned/NAME.damaged    events up to the last sync had been acknowledged
import { link } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { namesIn, syncFolder } from '../files/durable.ts'
import { isSegment, segmentBegunMs, spoolFolders } from './folders.ts'
import { readSegment } from './read-segment.ts'

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
  /** When the segment was opened, according to its name, ms. */
  begunMs: number
  lines: number
  bytes: number
}

/** @throws HOME_UNUSABLE */
export async function damageIn(file: string): Promise<Damage> {
  const segment = basename(file, ENDING)
  const { torn, damaged } = await readSegment(file)
  // A sealed segment was written completely, so unreadable bytes at its end are damage, too.
  const ranges = basename(dirname(file)) === 'sealed' ? [...torn, ...damaged] : damaged
  return {
    segment,
    begunMs: segmentBegunMs(segment),
    lines: ranges.length,
    bytes: ranges.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}
