// The range of `ts` that one page covers, derived from the window's progress before the page.
import type { Interval } from './coverage.ts'
import { isNextPage } from './window-progress.ts'
import { isById, type PageFacts, secondWithin, sortOf, type WindowProgress } from './windows.ts'

/** Closed, in whole seconds; `from` null: from the beginning of time. */
export interface PageRange extends Omit<Interval, 'from'> {
  from: number | null
}

/**
 * A page covers from the last conversation of the previous page to its own last one, or to the window's bound if it is the last page.
 * Adjacent pages share the second at which they meet. A page without any `ts` may cover the rest of its window. Null for a page of ids.
 */
export function pageRangeOf(before: WindowProgress, page: PageFacts): PageRange | null {
  const { window } = page
  if (isById(window.kind)) return null
  const bounds: PageRange = { from: window.fromSec, to: window.toSec }
  const begins = secondWithin(window, isNextPage(before, page) ? before.lastTsMs : (page.firstTsMs ?? null))
  const ends = page.hasMore ? secondWithin(window, page.lastTsMs) : null
  const range =
    sortOf(window) === 'asc'
      ? { from: begins ?? bounds.from, to: ends ?? bounds.to }
      : { from: ends ?? bounds.from, to: begins ?? bounds.to }
  // A reversed range: the vendor ignored the requested order, and the page may hold any part of its window.
  return range.from !== null && range.from > range.to ? bounds : range
}

/**
 * Ends the range of a page (`earlier`) with which, or after which without any `ts`, the window's position `before` the next `page` was
 * reached: conversations that the vendor skipped since then lie before the first one of the next page, or anywhere in that page's range if it
 * has no `ts`. Unchanged if a page between is missing, or if pages did not arrive in order.
 */
export function reachingTo(earlier: PageRange, before: WindowProgress, page: PageFacts): PageRange {
  const { window } = page
  if (!isNextPage(before, page) || before.disordered) return earlier
  const own = pageRangeOf(before, page) ?? earlier
  const [first, reached] = [secondWithin(window, page.firstTsMs ?? null), secondWithin(window, before.lastTsMs)]
  if (sortOf(window) === 'asc') return { ...earlier, to: Math.max(reached ?? earlier.from ?? 0, first ?? own.to) }
  const from = first ?? own.from
  return { ...earlier, from: from === null ? null : Math.min(reached ?? earlier.to, from) }
}
