// Expiry: removes pages and event payloads that are older than the configured retention. Their rows stay in the warehouse, which then is the
// only place that has them.
import type { Landing } from '../landing/landing.ts'
import { folderOf } from '../landing/page-address.ts'
import { expireArchive } from '../spool/archive.ts'
import type { Writer } from '../warehouse/connection.ts'
import { foldersOfFinishedWindows, loadedFiles } from '../warehouse/planning/loaded-files.ts'

/** Maximum age, ms; null: kept forever. */
export interface Retention {
  pagesMs: number | null
  eventsMs: number | null
}

export interface Expired {
  /** Months of agents and of listings whose pages have expired. */
  folders: number
  pages: number
  /** Archive files of the spool, a day each or less. */
  eventFiles: number
  eventBytes: number
}

interface Expiring {
  landing: Landing
  writer: Writer
  home: string
  workspaceId: string
  retention: Retention
  now: () => number
}

/** First moment after a month such as `2026-11`, UTC, ms. NaN for any other name: a comparison with it is false, so it never expires. */
const monthEndMs = (month: string): number => {
  const [year, number] = month.split('-').map(Number)
  return Date.UTC(year!, number!)
}

/** The folders that may expire, with the number of their pages. A page that is not loaded keeps its folder. */
async function expirableFolders({ landing, writer, workspaceId }: Expiring, beforeMs: number) {
  const over = (await landing.folders()).filter(({ month }) => monthEndMs(month) <= beforeMs)
  const folders = await foldersOfFinishedWindows(writer, workspaceId, {
    folders: over.map(({ folder }) => folder),
    beforeMs,
  })
  const loaded = await loadedFiles(writer, workspaceId, [...folders])
  const pages = new Map<string, number>()
  for (const { address } of await landing.listFolders([...folders])) {
    const folder = folderOf(address)
    pages.set(folder, (pages.get(folder) ?? 0) + 1)
    if (!loaded.has(address)) folders.delete(folder)
  }
  return [...folders].flatMap(folder => (pages.has(folder) ? [{ folder, pages: pages.get(folder)! }] : []))
}

/** Removes what has expired; with `dryRun` it only counts. @throws HOME_UNUSABLE, LANDING_CORRUPT */
export async function expire(expiring: Expiring, { dryRun }: { dryRun: boolean }): Promise<Expired> {
  const { landing, home, workspaceId, retention, now } = expiring
  const nowMs = now()
  const expired: Expired = { folders: 0, pages: 0, eventFiles: 0, eventBytes: 0 }
  if (retention.pagesMs !== null) {
    const beforeMs = nowMs - retention.pagesMs
    const folders = await expirableFolders(expiring, beforeMs)
    expired.folders = folders.length
    expired.pages = folders.reduce((sum, { pages }) => sum + pages, 0)
    if (!dryRun) await landing.expire(folders, { beforeMs, nowMs })
  }
  if (retention.eventsMs !== null) {
    const archive = await expireArchive(home, workspaceId, { beforeMs: nowMs - retention.eventsMs, nowMs, dryRun })
    expired.eventFiles = archive.files
    expired.eventBytes = archive.bytes
  }
  return expired
}
