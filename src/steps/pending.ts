// Landed pages that are not loaded yet. They are listed once from the landing and then updated as pages land. In the
// embedded host only this process lands pages, so later runs need not list them again.
import { compactTimestamp } from '../core/time.ts'
import type { LandedFolder, LandedPage, Landing } from '../landing/landing.ts'
import type { PageHead } from '../landing/page.ts'
import { folderOf, precedingAddress } from '../landing/page-address.ts'
import type { Writer } from '../warehouse/connection.ts'
import type { LoadablePage } from '../warehouse/load/load-input.ts'
import { loadedFiles, loadedFolders, recordLoadedFolders } from '../warehouse/planning/loaded-files.ts'

interface BatchSize {
  count: number
  bytes: number
}

export interface Pending {
  /** Adds a landed page unless it is already known. */
  add(address: string, head: PageHead): void
  /**
   * Returns the oldest pages: about `count` pages and `bytes` of bodies, at least one page, and listings only as a
   * whole. The pages stay in the list until `taken` is called with them.
   */
  next(batch: BatchSize): LoadablePage[]
  taken(pages: readonly LoadablePage[]): void
  all(): readonly LoadablePage[]
  /** Marks the list as possibly stale, so that the landing is listed again. */
  spoil(): void
  spoilt(): boolean
}

/** Number of heads read concurrently. The reads are small; the bound limits open files. */
const READ_AT_ONCE = 32

/** The landed pages that are not loaded, and the addresses of the loaded ones. */
interface Unloaded {
  pages: LoadablePage[]
  loaded: ReadonlySet<string>
}

/** True if the page before this one in its generation is not in `there`. */
function isBehindGap(page: LandedPage, there: ReadonlySet<string>): boolean {
  const preceding = precedingAddress(page)
  return preceding !== null && !there.has(preceding)
}

/**
 * Returns the pages of the landing, or of these `folders`, that are not in `loaded`, in loading order. @throws
 * LANDING_CORRUPT if a head cannot be read: ignoring it would export its window again
 */
export async function readPending(
  landing: Landing,
  loaded: ReadonlySet<string>,
  { folders }: { folders?: readonly string[] } = {},
): Promise<Unloaded> {
  const list = () => (folders ? landing.listFolders(folders) : landing.list())
  let listed = await list()
  const there = new Set(listed.map(file => file.address))
  // A folder listing may miss files that other processes add during the read. A second listing shows every page that
  // landed before any page of the first one, unless it was deleted.
  if (listed.some(file => !loaded.has(file.address) && isBehindGap(file, there))) listed = await list()
  const files = listed.filter(file => !loaded.has(file.address))
  const pages: LoadablePage[] = []
  for (let start = 0; start < files.length; start += READ_AT_ONCE) {
    const slice = files.slice(start, start + READ_AT_ONCE)
    const read = async ({ address }: LandedPage) => ({ address, head: await landing.head(address) })
    pages.push(...(await Promise.all(slice.map(read))))
  }
  return { pages, loaded }
}

export function openPending(unloaded: Unloaded): Pending {
  let waiting = unloaded.pages
  let spoilt = false
  const known = new Set(waiting.map(page => page.address))
  return {
    add(address, head) {
      if (known.has(address) || unloaded.loaded.has(address)) return
      known.add(address)
      // Only a head that was read from disk has `packed`.
      waiting.push({ address, head, justLanded: head.packed === undefined })
    },
    next({ count, bytes }) {
      let end = 0
      for (let sum = 0; end < Math.min(count, waiting.length); end++) {
        sum += waiting[end]!.head.bodyBytes
        if (end > 0 && sum > bytes) break
      }
      const sameListing = (a: LoadablePage | undefined, b: LoadablePage | undefined) =>
        a?.head.place.stream !== 'conversations' && a?.head.place.window === b?.head.place.window
      while (end > 0 && end < waiting.length && sameListing(waiting[end - 1], waiting[end])) end += 1
      return waiting.slice(0, end)
    },
    taken(pages) {
      const gone = new Set(pages.map(page => page.address))
      waiting = waiting.filter(page => !gone.has(page.address))
      // Loaded pages are not fetched again, so their names are removed: in watch mode the set would grow without bound.
      for (const path of gone) known.delete(path)
    },
    all: () => waiting,
    spoil() {
      spoilt = true
    },
    spoilt: () => spoilt,
  }
}

function isOver({ month, stableFromMs }: LandedFolder, nowMs: number): boolean {
  const now = compactTimestamp(nowMs)
  return month < `${now.slice(0, 4)}-${now.slice(4, 6)}` && stableFromMs < nowMs
}

/**
 * Returns the pages that are not loaded when a run starts. Skips folders of past months that were loaded completely and have not
 * changed, so a start lists the current month and checks one stamp per agent and month. @throws HOME_UNUSABLE, LANDING_CORRUPT
 */
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
  // Only changed folders can contain leftovers of a killed writer.
  await landing.sweep(folders)
  const unloaded = await readPending(landing, await loadedFiles(writer, workspaceId, folders), { folders })
  const waiting = new Set(unloaded.pages.map(({ address }) => folderOf(address)))
  const over = changed.filter(folder => isOver(folder, nowMs) && !waiting.has(folder.folder))
  await recordLoadedFolders(writer, workspaceId, over)
  return unloaded
}
