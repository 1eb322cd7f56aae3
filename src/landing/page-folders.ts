// The folders of landed pages: which there are, and which pages they hold.
import { stat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { STREAMS } from '../catalog/resources/resources.ts'
import { homeUnusable } from '../core/disk.ts'
import { SECOND } from '../core/time.ts'
import { entriesIn } from '../files/durable.ts'
import type { LandedFolder, LandedPage } from './landing.ts'
import { parsePageName, streamFolder } from './page-address.ts'

async function addressesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await entriesIn(join(root, folder))
  const found = await Promise.all(
    entries.map(entry => {
      const address = posix.join(folder, entry.name)
      // A folder that has a page's name is listed, so that reading it reports the fault instead of hiding a page.
      return entry.isDirectory() && !parsePageName(entry.name) ? addressesBelow(root, address) : [address]
    }),
  )
  return found.flat()
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const inLoadOrder = (a: LandedPage, b: LandedPage): number =>
  a.window === b.window
    ? a.generation - b.generation || a.sequence - b.sequence || compare(a.address, b.address)
    : compare(a.window, b.window)

/** The pages below these folders, in load order. Reads the files before the bundles: a page that moves while they are read is in one of them. */
export async function pagesIn(
  root: string,
  folders: readonly string[],
  bundled: () => Promise<Iterable<string>>,
): Promise<LandedPage[]> {
  const files = (await Promise.all(folders.map(folder => addressesBelow(root, folder)))).flat()
  return [...new Set([...files, ...(await bundled())])]
    .flatMap(address => {
      const parsed = parsePageName(address)
      return parsed ? [{ address, ...parsed }] : []
    })
    .sort(inLoadOrder)
}

/** Folders read at a time. */
const FOLDERS_AT_ONCE = 64

async function inSlices<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (let start = 0; start < items.length; start += FOLDERS_AT_ONCE)
    done.push(...(await Promise.all(items.slice(start, start + FOLDERS_AT_ONCE).map(work))))
  return done
}

/** Some file systems store times in steps of two seconds: a folder that has just changed may change again with the same stamp. */
const STAMP_SETTLES_MS = 10 * SECOND

async function landedFolder(root: string, folder: string): Promise<LandedFolder> {
  const { mtimeNs, mtimeMs } = await stat(join(root, folder), { bigint: true }).catch(cause => {
    throw homeUnusable(join(root, folder), cause)
  })
  const stableFromMs = Number(mtimeMs) + STAMP_SETTLES_MS
  return { folder, month: posix.basename(folder), stamp: String(mtimeNs), stableFromMs }
}

/** Lists the folders of agents and months, but not the pages in them. @throws HOME_UNUSABLE */
export async function landedFolders(root: string, workspaceId: string): Promise<LandedFolder[]> {
  const foldersIn = async (folder: string): Promise<string[]> =>
    (await entriesIn(join(root, folder)))
      .filter(entry => entry.isDirectory())
      .map(entry => posix.join(folder, entry.name))
  const months: string[] = []
  for (const stream of STREAMS) {
    const top = streamFolder(workspaceId, stream, null)
    // Conversations have a folder per agent, with months below it.
    const parents = stream === 'conversations' ? await foldersIn(top) : [top]
    months.push(...(await inSlices(parents, foldersIn)).flat())
  }
  return inSlices(months, folder => landedFolder(root, folder))
}
