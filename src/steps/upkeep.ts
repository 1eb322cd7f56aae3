// Upkeep of a workspace's files after a sync: joins the lease log's files, and once a day compacts and prunes the landing.
import { DAY, SECOND } from '../core/time.ts'
import type { Landing } from '../landing/landing.ts'
import type { LeaseLog } from '../landing/lease-log.ts'
import { folderOf } from '../landing/page-address.ts'
import { expireArchive } from '../spool/archive.ts'
import type { Writer } from '../warehouse/connection.ts'
import { foldersOfFinishedWindows, loadedFiles } from '../warehouse/planning/loaded-files.ts'

/** Time limit, even if years of pages are compacted for the first time; the next syncs continue the work. */
const MOST_WORK_MS = 20 * SECOND

/** Skips the landing within a day of the first sync and of the last complete upkeep. @throws HOME_UNUSABLE, LANDING_CORRUPT */
export async function upkeep(options: {
  landing: Landing
  leaseLog: Pick<LeaseLog, 'merge'>
  writer: Writer
  home: string
  workspaceId: string
  retention: Retention
  now: () => number
  signal: AbortSignal
}): Promise<void> {
  const { landing, now, signal } = options
  await options.leaseLog.merge(now())
  const lastMs = await landing.lastUpkeepMs()
  // A first sync lands large pages, so there is nothing to do for a day.
  if (lastMs === null) return landing.noteUpkeep(now())
  // The time is in the future, since the clock has been set back.
  if (lastMs <= now() && now() - lastMs < DAY) return
  const untilMs = performance.now() + MOST_WORK_MS
  // The current month has the many small pages.
  const folders = (await landing.folders()).sort((a, b) => (a.month < b.month ? 1 : -1))
  for (const { folder } of folders) {
    if (signal.aborted || performance.now() > untilMs) return
    await landing.compact([folder], now())
  }
  await expire(options, { dryRun: false })
  await landing.noteUpkeep(now())
}

/** Maximum age, ms; null keeps everything forever. */
export interface Retention {
  pagesMs: number | null
  eventsMs: number | null
}

export interface Expired {
  /** Number of months of agents and of listings whose pages have expired. */
  folders: number
  pages: number
  /** Number of the spool's archive files, which cover a day or less each. */
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

/** Returns the end of a month such as `2026-11`, UTC, ms. NaN for other names, which never expire. */
const monthEndMs = (month: string): number => {
  const [year, number] = month.split('-').map(Number)
  return Date.UTC(year!, number!)
}

/** Returns the folders that may expire, with the number of their pages. A page that is not loaded keeps its folder. */
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

/** Removes expired files; with `dryRun`, only counts them. @throws HOME_UNUSABLE, LANDING_CORRUPT */
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
