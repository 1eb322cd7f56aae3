// The request for the next page of a window.
import { EARLIEST_MS } from '../time.ts'
import { idsAhead } from './window-ids.ts'
import { isById, readingOrder, type Sort, secondOf, sortOf, type WindowProgress } from './windows.ts'

/** Begins the next generation of a window at the last landed second, inclusive, instead of at the window's start. */
export function restarted(progress: WindowProgress): WindowProgress {
  const { window, lastTsMs, restartMs, verifies } = progress
  // A full page reported that it was the last one. If that is true, reading after its last second bills nothing.
  const beginMs = verifies && lastTsMs !== null ? lastTsMs + readingOrder(window).step * 1_000 : lastTsMs
  return {
    ...progress,
    generation: progress.generation + 1,
    sequence: 1,
    cursor: null,
    limit: null,
    restartMs: beginMs ?? restartMs,
  }
}

export interface WindowQuery {
  sort?: Sort
  fromTs?: number
  toTs?: number
  limit?: number
  cursor?: string
  convoIds?: string[]
}

/**
 * Returns the request for the window's next page, and the progress to which that page will belong. Another limit begins a new
 * generation, because a cursor is bound to its query; so does a page with `hasMore` but without a usable cursor. If pages arrived out
 * of order, no time separates the read part from the rest: their cursor is followed at their limit, unless that is too large now.
 */
export function nextRequest(progress: WindowProgress, most: number): { progress: WindowProgress; query: WindowQuery } {
  const limit = progress.disordered && progress.cursor !== null ? Math.min(progress.limit ?? most, most) : most
  if (isById(progress.window.kind)) {
    return { progress, query: { convoIds: idsAhead(progress).slice(0, Math.min(most, progress.mostIds ?? most)) } }
  }
  const otherLimit = progress.limit !== null && progress.limit !== limit
  const cursorLost = progress.cursor === null && progress.sequence > 1
  const current = otherLimit || cursorLost ? restarted(progress) : progress
  const sort = sortOf(current.window)
  const { fromSec, toSec, askFromSec = fromSec } = current.window
  const from = askFromSec === null ? null : askFromSec * 1_000
  const to = toSec * 1_000 + 999
  // A record's `ts` may lie outside of the window, a bound may not. Bounds include whole seconds, since `ts` may be in seconds.
  const restart = current.restartMs === null ? null : secondOf(current.restartMs) * 1_000
  const fromTs = sort === 'asc' && restart !== null ? Math.min(Math.max(restart, from ?? 0), to) : from
  const toTs = sort === 'desc' && restart !== null ? Math.max(Math.min(restart + 999, to), from ?? 0) : to
  return {
    progress: current,
    query: {
      sort,
      limit,
      // A time that the vendor could read in another unit is never sent; the request then covers more than its window.
      ...(fromTs !== null && fromTs >= EARLIEST_MS && { fromTs }),
      toTs: Math.max(toTs, EARLIEST_MS + 999),
      ...(current.cursor !== null && { cursor: current.cursor }),
    },
  }
}
