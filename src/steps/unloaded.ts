// Finds landed pages that are not loaded when a run starts. Folders of past months that were loaded completely and have not changed are
// skipped, so a start lists the current month and checks one stamp per agent and month.
import { compactTimestamp, SECOND } from '../core/time.ts'
import type { Landing } from '../landing/folder-landing.ts'
import type { LandedFolder } from '../landing/folders.ts'
import type { Writer } from '../warehouse/connection.ts'
import { loadedFiles, loadedFolders, recordLoadedFolders } from '../warehouse/planning/loaded-files.ts'
import { readPending, type Unloaded } from './pending.ts'

/** File times may be as coarse as 2 s: a folder that changed just now may change again unnoticed. */
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
  // Only changed folders can hold leftovers of a killed writer.
  await landing.compact(folders)
  const unloaded = await readPending(landing, await loadedFiles(writer, workspaceId, folders), { folders })
  const waiting = new Set(unloaded.pages.map(({ address }) => address.slice(0, address.lastIndexOf('/'))))
  const over = changed.filter(folder => isOver(folder, nowMs) && !waiting.has(folder.folder))
  await recordLoadedFolders(writer, workspaceId, over)
  return unloaded
}
