// Segments of which something was damaged after it had been acknowledged. What can be read of them is applied like any other; the file
// is kept as it is, beside, for whoever wants to look into it.
//
//   spool/<workspace>/sealed/NAME.damaged       all of it had been acknowledged
//   spool/<workspace>/abandoned/NAME.damaged    up to its last sync
import { link } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { namesIn, syncFolder } from '../files/durable.ts'
import { isSegment, segmentBegunMs, spoolFolders } from './folders.ts'
import { readSegment } from './read-segment.ts'

const ENDING = '.damaged'

/** How such a file is called. */
export const damagedName = (segment: string): string => `${segment}${ENDING}`

/** Keeps a sealed segment under a second name: the first one goes when what can be read is applied. @throws HOME_UNUSABLE */
export async function keepDamaged(segment: string): Promise<void> {
  try {
    await link(segment, damagedName(segment))
    await syncFolder(dirname(segment))
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw homeUnusable(segment, error)
  }
}

/** Files of damaged segments. @throws HOME_UNUSABLE */
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

export interface Damage {
  /** The segment's name. */
  segment: string
  /** When it was begun, by its name, ms. */
  begunMs: number
  lines: number
  bytes: number
}

/** What is damaged of such a file. @throws HOME_UNUSABLE */
export async function damageIn(file: string): Promise<Damage> {
  const segment = basename(file, ENDING)
  const { torn, damaged } = await readSegment(file)
  // A sealed one has no end that a kill has cut off.
  const stretches = basename(dirname(file)) === 'sealed' ? [...torn, ...damaged] : damaged
  return {
    segment,
    begunMs: segmentBegunMs(segment),
    lines: stretches.length,
    bytes: stretches.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}
