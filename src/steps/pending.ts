// Landed pages that no load has taken: read once from the landing when a process begins, then kept as pages land. Whoever holds the
// warehouse is the only one who lands, so later runs of the same process need not look again.
import { join } from 'node:path'
import type { PageHead } from '../landing/page.ts'
import type { LandedFile, Landing } from '../landing/store.ts'
import type { LoadablePage } from '../warehouse/page.ts'
import { type LandedPage, partAtGaps } from './gaps.ts'

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
  /** Pages behind one that is missing. They wait until fetching comes to them. */
  held(): readonly LoadablePage[]
  /** Says that what is told here may not be so any more: the landing has to be looked at again. */
  spoil(): void
  spoilt(): boolean
}

const loadable = (landing: Landing, path: string, head: PageHead): LoadablePage & { head: PageHead } => ({
  path,
  absolutePath: join(landing.root, path),
  head,
})

/** Heads are read so many at a time: each is a small read, and more would only hold more files open. */
const READ_AT_ONCE = 32

/** What the landing has besides what is loaded. */
export interface Unloaded {
  ready: LoadablePage[]
  /** Pages behind one that is missing. */
  held: LoadablePage[]
  loaded: ReadonlySet<string>
}

/**
 * Pages of the landing, or of these `folders` of it, that are not in `loaded`; in loading order. `gone` are files that are
 * known to have been there: nothing is missing where they were. @throws LANDING_CORRUPT where a head cannot be read: what
 * its window has would be bought again
 */
export async function readPending(
  landing: Landing,
  loaded: ReadonlySet<string>,
  { folders, gone }: { folders?: readonly string[]; gone?: ReadonlySet<string> } = {},
): Promise<Unloaded> {
  const listed = await (folders ? landing.listFolders(folders) : landing.list())
  const files = listed.filter(file => !loaded.has(file.path))
  if (files.length === 0) return { ready: [], held: [], loaded }
  const pages: (LandedPage & LoadablePage)[] = []
  for (let start = 0; start < files.length; start += READ_AT_ONCE) {
    const slice = files.slice(start, start + READ_AT_ONCE)
    const read = async (file: LandedFile) => ({ file, ...loadable(landing, file.path, await landing.head(file.path)) })
    pages.push(...(await Promise.all(slice.map(read))))
  }
  const there = new Set(listed.map(file => file.path))
  return { ...partAtGaps(pages, path => there.has(path) || loaded.has(path) || gone?.has(path) === true), loaded }
}

export function openPending(landing: Landing, unloaded: Unloaded): Pending {
  let waiting = unloaded.ready
  let held = unloaded.held
  let spoilt = false
  const known = new Set(waiting.map(page => page.path))
  return {
    add(path, head) {
      if (known.has(path) || unloaded.loaded.has(path)) return
      known.add(path)
      held = held.filter(page => page.path !== path)
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
      const gone = new Set(pages.map(page => page.path))
      waiting = waiting.filter(page => !gone.has(page.path))
      // What is loaded is not fetched past any more: a watch of months would only collect names.
      for (const path of gone) known.delete(path)
    },
    all: () => waiting,
    held: () => held,
    spoil() {
      spoilt = true
    },
    spoilt: () => spoilt,
  }
}
