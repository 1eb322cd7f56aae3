// What has landed and is not loaded, when a run begins. A folder of a month that is over, which was loaded whole and has not
// changed since, is not read: so a start reads the names of this month's pages, and one stamp for each agent and month.
import { compactTimestamp, SECOND } from '../core/time.ts'
import type { Landing } from '../landing/folder-landing.ts'
import type { LandedFolder } from '../landing/folders.ts'
import type { Writer } from '../warehouse/connection.ts'
import { loadedFiles, loadedFolders, recordLoadedFolders } from '../warehouse/planning/loaded-files.ts'
import { readPending, type Unloaded } from './pending.ts'

/** File systems tell times as coarsely as two seconds: a folder that changed just now may change again unnoticed. */
const SETTLED_MS = 10 * SECOND

function isOver({ month, stamp }: LandedFolder, nowMs: number): boolean {
  const now = compactTimestamp(nowMs)
  const changedMs = Number(BigInt(stamp) / 1_000_000n)
  return month < `${now.slice(0, 4)}-${now.slice(4, 6)}` && changedMs < nowMs - SETTLED_MS
}

/** Pages that no load has taken. @throws HOME_UNUSABLE, LANDING_CORRUPT */
export async function readUnloaded(options: {
  landing: Landing
  writer: Writer
  workspaceId: string
  nowMs: number
}): Promise<Unloaded> {
  const { landing, writer, workspaceId, nowMs } = options
  const whole = await loadedFolders(writer, workspaceId)
  const changed = (await landing.folders()).filter(({ folder, stamp }) => whole.get(folder) !== stamp)
  const folders = changed.map(({ folder }) => folder)
  // A kill while a page was written has changed its folder; the others need not be read for it.
  await landing.compact(folders)
  const unloaded = await readPending(landing, await loadedFiles(writer, workspaceId, folders), { folders })
  const waiting = new Set(unloaded.pages.map(({ address }) => address.slice(0, address.lastIndexOf('/'))))
  const over = changed.filter(folder => isOver(folder, nowMs) && !waiting.has(folder.folder))
  await recordLoadedFolders(writer, workspaceId, over)
  return unloaded
}
