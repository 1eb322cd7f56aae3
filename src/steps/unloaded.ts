// Finds landed pages that are not loaded when a run starts. Folders of past months that were loaded completely and have not changed are
// skipped, so a start lists the current month and checks one stamp per agent and month.
import { compactTimestamp } from '../core/time.ts'
import type { LandedFolder, Landing } from '../landing/landing.ts'
import { folderOf } from '../landing/page-address.ts'
import type { Writer } from '../warehouse/connection.ts'
import { loadedFiles, loadedFolders, recordLoadedFolders } from '../warehouse/planning/loaded-files.ts'
import { readPending, type Unloaded } from './pending.ts'

function isOver({ month, stableFromMs }: LandedFolder, nowMs: number): boolean {
  const now = compactTimestamp(nowMs)
  return month < `${now.slice(0, 4)}-${now.slice(4, 6)}` && stableFromMs < nowMs
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
  // Only changed folders can hold leftovers of a killed writer.
  await landing.compact(folders)
  const unloaded = await readPending(landing, await loadedFiles(writer, workspaceId, folders), { folders })
  const waiting = new Set(unloaded.pages.map(({ address }) => folderOf(address)))
  const over = changed.filter(folder => isOver(folder, nowMs) && !waiting.has(folder.folder))
  await recordLoadedFolders(writer, workspaceId, over)
  return unloaded
}
