// Folders of the landing: an agent's pages of a month, or a listing's. A folder tells when it last changed, so that what is
// known of it need not be read again.
import { stat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { STREAMS } from '../catalog/resources.ts'
import { homeUnusable } from '../core/disk.ts'
import { entriesIn } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'

export interface LandedFolder {
  /** Below the landing's root. */
  folder: string
  /** The month in its name, `2026-11`: in which its windows were opened. */
  month: string
  /** When it last changed, ns since the epoch. */
  stamp: string
}

/** Folders are looked at so many at a time. */
const AT_ONCE = 64

async function foldersIn(root: string, folder: string): Promise<string[]> {
  const entries = await entriesIn(join(root, folder))
  return entries.filter(entry => entry.isDirectory()).map(entry => posix.join(folder, entry.name))
}

async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (let start = 0; start < items.length; start += AT_ONCE)
    done.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))))
  return done
}

async function stamped(root: string, folder: string): Promise<LandedFolder> {
  const { mtimeNs } = await stat(join(root, folder), { bigint: true }).catch(cause => {
    throw homeUnusable(join(root, folder), cause)
  })
  return { folder, month: posix.basename(folder), stamp: String(mtimeNs) }
}

/** Every folder of pages of a workspace. Reads one folder an agent, and no page's name. @throws HOME_UNUSABLE */
export async function landedFolders(root: string, workspaceId: string): Promise<LandedFolder[]> {
  const months: string[] = []
  for (const stream of STREAMS) {
    const top = posix.join(pathSegment(workspaceId), stream)
    // Conversations have a folder an agent, and months below it.
    const above = stream === 'conversations' ? await foldersIn(root, top) : [top]
    months.push(...(await inTurns(above, folder => foldersIn(root, folder))).flat())
  }
  return inTurns(months, folder => stamped(root, folder))
}
