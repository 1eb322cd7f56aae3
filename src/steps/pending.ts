// Landed pages that no load has taken: read once from the landing when a process begins, then kept as pages land. Whoever holds the
// warehouse is the only one who lands, so later runs of the same process need not look again.
import { join, posix } from 'node:path'
import type { LandedPage, Landing } from '../landing/folder-landing.ts'
import type { PageHead } from '../landing/page.ts'
import { pageName } from '../landing/page-address.ts'
import type { LoadablePage } from '../warehouse/load/load-input.ts'

export interface BatchSize {
  count: number
  bytes: number
}

export interface Pending {
  /** Takes a page that has landed, unless it is known already. */
  add(path: string, head: PageHead): void
  /**
   * The oldest pages, at most `count` and about `bytes` of bodies (one page at least; a listing is never cut in two);
   * they leave when `taken` is called with them.
   */
  next(batch: BatchSize): LoadablePage[]
  taken(pages: readonly LoadablePage[]): void
  all(): readonly LoadablePage[]
  /** Says that what is told here may not be so any more: the landing has to be looked at again. */
  spoil(): void
  spoilt(): boolean
}

const loadable = (landing: Landing, path: string, head: PageHead): LoadablePage & { head: PageHead } => ({
  address: path,
  absolutePath: join(landing.root, path),
  head,
})

/** Heads are read so many at a time: each is a small read, and more would only hold more files open. */
const READ_AT_ONCE = 32

/** What the landing has besides what is loaded. */
export interface Unloaded {
  pages: LoadablePage[]
  loaded: ReadonlySet<string>
}

/** True where the page before it in its generation is not among `there`. */
const isBehindGap = (
  { address: path, window, generation, sequence }: LandedPage,
  there: ReadonlySet<string>,
): boolean =>
  sequence > 1 && !there.has(posix.join(posix.dirname(path), pageName({ window, generation, sequence: sequence - 1 })))

/**
 * Pages of the landing, or of these `folders` of it, that are not in `loaded`; in loading order. @throws LANDING_CORRUPT where
 * a head cannot be read: what its window has would be bought again
 */
export async function readPending(
  landing: Landing,
  loaded: ReadonlySet<string>,
  { folders }: { folders?: readonly string[] } = {},
): Promise<Unloaded> {
  const list = () => (folders ? landing.listFolders(folders) : landing.list())
  let listed = await list()
  const there = new Set(listed.map(file => file.address))
  // Others may land meanwhile, and a list that was begun before shows what it likes of that. What landed before one that is
  // listed is in a list that is begun now, or is gone.
  if (listed.some(file => !loaded.has(file.address) && isBehindGap(file, there))) listed = await list()
  const files = listed.filter(file => !loaded.has(file.address))
  const pages: LoadablePage[] = []
  for (let start = 0; start < files.length; start += READ_AT_ONCE) {
    const slice = files.slice(start, start + READ_AT_ONCE)
    const read = async (file: LandedPage) => loadable(landing, file.address, await landing.head(file.address))
    pages.push(...(await Promise.all(slice.map(read))))
  }
  return { pages, loaded }
}

export function openPending(landing: Landing, unloaded: Unloaded): Pending {
  let waiting = unloaded.pages
  let spoilt = false
  const known = new Set(waiting.map(page => page.address))
  return {
    add(path, head) {
      if (known.has(path) || unloaded.loaded.has(path)) return
      known.add(path)
      // A head that was read back tells what was packed.
      waiting.push({ ...loadable(landing, path, head), justLanded: head.packed === undefined })
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
      // What is loaded is not fetched past any more: a watch of months would only collect names.
      for (const path of gone) known.delete(path)
    },
    all: () => waiting,
    spoil() {
      spoilt = true
    },
    spoilt: () => spoilt,
  }
}
