// Landed pages that no load has taken: read once from the landing when a run begins, then kept as pages land.
import { join } from 'node:path'
import type { PageHead } from '../landing/page.ts'
import type { Landing } from '../landing/store.ts'
import type { LoadablePage } from '../warehouse/page.ts'

export interface BatchSize {
  count: number
  bytes: number
}

export interface Pending {
  add(path: string, head: PageHead): void
  /**
   * The oldest pages, at most `count` and about `bytes` of bodies (one page at least; a listing is never cut in two);
   * they leave when `taken` is called with them.
   */
  next(batch: BatchSize): LoadablePage[]
  taken(pages: readonly LoadablePage[]): void
  all(): readonly LoadablePage[]
}

const loadable = (landing: Landing, path: string, head: PageHead): LoadablePage => ({
  path,
  absolutePath: join(landing.root, path),
  head,
})

/** Heads are read so many at a time: each is a small read, and more would only hold more files open. */
const READ_AT_ONCE = 32

/** Pages of the landing that are not in `loaded`, in loading order. Grows with what is unloaded, and a name for each page ever landed. */
export async function readPending(landing: Landing, loaded: ReadonlySet<string>): Promise<LoadablePage[]> {
  const files = (await landing.list()).filter(file => !loaded.has(file.path))
  const pages: LoadablePage[] = []
  for (let start = 0; start < files.length; start += READ_AT_ONCE) {
    const slice = files.slice(start, start + READ_AT_ONCE)
    pages.push(
      ...(await Promise.all(slice.map(async file => loadable(landing, file.path, await landing.head(file.path))))),
    )
  }
  return pages
}

export function openPending(landing: Landing, pages: LoadablePage[]): Pending {
  let waiting = pages
  return {
    add(path, head) {
      waiting.push(loadable(landing, path, head))
    },
    next({ count, bytes }) {
      let end = 0
      for (let sum = 0; end < Math.min(count, waiting.length); end++) {
        sum += waiting[end]!.head.bodyBytes
        if (end > 0 && sum > bytes) break
      }
      const isListing = (page: LoadablePage | undefined) => page?.head.place.stream === 'agents'
      const sameListing = (a: LoadablePage | undefined, b: LoadablePage | undefined) =>
        isListing(a) && isListing(b) && a?.head.place.window === b?.head.place.window
      while (end > 0 && end < waiting.length && sameListing(waiting[end - 1], waiting[end])) end += 1
      return waiting.slice(0, end)
    },
    taken(pages) {
      const gone = new Set(pages.map(page => page.path))
      waiting = waiting.filter(page => !gone.has(page.path))
    },
    all: () => waiting,
  }
}
