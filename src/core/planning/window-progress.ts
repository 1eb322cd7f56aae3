// Folds landed pages into the progress of their window. The seconds that a missing page may have contained are a hole: the window does
// not cover them, and only they are planned again. A range that the window could not read is a hole, too, and recorded as its gap.

import { type Coverage, cover, gaps, type Interval, without } from './coverage.ts'
import { capAfter } from './failed-pages.ts'
import { judgePage, MAX_STALLED } from './no-progress.ts'
import { advanceIds } from './window-ids.ts'
import { restarted } from './window-query.ts'
import {
  isById,
  type PageFacts,
  reachedBy,
  readingOrder,
  secondOf,
  secondWithin,
  sortOf,
  type WindowGap,
  type WindowProgress,
} from './windows.ts'

/** Returns what the pages since `start` returned, and skipped: requests by id do not tell skipped conversations from missing ones. */
export function countsSince(start: WindowProgress, { window, pages, returned, scanned }: WindowProgress) {
  const skipped = isById(window.kind) ? 0 : scanned - start.scanned - (returned - start.returned)
  return { pages: pages - start.pages, conversations: returned - start.returned, ...(skipped > 0 && { skipped }) }
}

/** Folds one landed page into its window's progress. Pages of one window must be folded in order of generation and sequence. */
export function advance(progress: WindowProgress, page: PageFacts): WindowProgress {
  const sums = {
    pages: progress.pages + 1,
    returned: progress.returned + page.returned,
    scanned: progress.scanned + (page.scanned ?? page.returned),
    billed: progress.billed + (page.billed ?? 0),
  }
  const byId = isById(progress.window.kind)
  // A missing page that has reappeared fills its hole; the window's position stays.
  if (isBehind(progress, page)) return { ...progress, ...sums, ...(!byId && updateHoles(progress, page)) }
  const begun = page.generation > progress.generation ? restarted(progress) : progress
  const { adrift: _, verifies: _verified, cap: _cap, ...next } = begun
  const requested = page.cap ?? progress.cap
  const cap = page.outOfRange ? requested : capAfter(requested, page)
  const placed = {
    ...next,
    ...sums,
    // The page's cursor is valid only for queries from the bound at which the generation began.
    ...(page.beginMs !== undefined && { restartMs: page.beginMs }),
    generation: page.generation,
    sequence: page.sequence + 1,
    limit: page.limit,
    ...(page.undated && { undated: true as const }),
    ...(cap && { cap }),
  }
  if (byId) return { ...placed, ...advanceIds(progress, page), cursor: page.cursorOut }
  const { isStalled, ...judged } = judgePage(progress, page)
  const after = { ...placed, ...judged }
  if (page.unread) return withGap(after, page, page.unread)
  if (judged.stalled >= MAX_STALLED)
    return withGap(after, page, { ...NOTHING_NEW, ...(page.outOfRange && { outOfRange: true }) })
  if (isStalled) return after
  const moved = { ...after, lastTsMs: page.lastTsMs ?? next.lastTsMs }
  if (page.hasMore) return { ...moved, ...updateHoles(progress, page) }
  // Nothing follows the last second of a full page, so it was the last one, as it reported.
  if (progress.verifies && page.returned === 0) return { ...moved, done: true }
  if ((isFull(page) || isBrokenPromise(progress, page)) && isFollowedBySeconds(moved)) {
    // Everything after the last conversation of a head window belongs to the next one, which is requested anyway.
    const read = { ...moved, ...updateHoles(progress, { ...page, hasMore: true }) }
    return isPoll(moved) ? endedAtLast(read) : { ...read, verifies: true }
  }
  return { ...moved, done: true, ...updateHoles(progress, page) }
}

/**
 * True if a page contains as many conversations as requested, including skipped ones: it may have been cut off, no matter
 * what it reports. False if records have no `ts`, since verifying would export them again after the last dated one.
 */
const isFull = ({ returned, scanned, limit, undated = 0 }: PageFacts): boolean =>
  (returned >= limit || scanned === limit) && undated === 0

/** True if the previous page promised more and nothing came, not even skipped conversations. */
const isBrokenPromise = (progress: WindowProgress, page: PageFacts): boolean =>
  page.cursorIn !== null && page.returned === 0 && (page.scanned ?? 0) === 0 && isNextPage(progress, page)

const isPoll = ({ window: { kind, gap }, disordered }: WindowProgress): boolean =>
  kind === 'head' && !gap && !disordered

/** Ends the window at its last landed conversation. */
function endedAtLast(progress: WindowProgress): WindowProgress {
  const { window, holes = [] } = progress
  return { ...progress, done: true, holes: cover(holes, { from: reachedBy(progress) + 1, to: window.toSec }) }
}

/** True if the window has seconds after its last landed conversation. */
function isFollowedBySeconds({ window, lastTsMs }: WindowProgress): boolean {
  const last = secondWithin(window, lastTsMs)
  return last !== null && last !== readingOrder(window).end
}

const NOTHING_NEW = {
  code: 'API_PROTOCOL' as const,
  what: 'page after page brought no new conversation of the requested range, although the vendor reports more',
  billedUpTo: 0,
}

/** Returns the unread part of the window, from the second that it has reached. */
export function aheadOf(progress: WindowProgress): Interval {
  const { start, end } = readingOrder(progress.window)
  return between(progress.disordered ? start : reachedBy(progress), end)
}

/** Ends the window: its unread part becomes a hole and its gap. */
function withGap(
  progress: WindowProgress,
  page: PageFacts,
  unread: NonNullable<PageFacts['unread']> & Pick<WindowGap, 'outOfRange'>,
): WindowProgress {
  const { window, holes = [] } = progress
  const left = aheadOf(progress)
  const gap: WindowGap = {
    fromSec: left.from <= 0 && window.fromSec === null ? null : left.from,
    toSec: left.to,
    code: unread.code,
    what: unread.what,
    sinceMs: window.gap?.sinceMs ?? page.atMs,
    atMs: page.atMs,
    tries: window.gap?.tries ?? 0,
    billedUpTo: unread.billedUpTo,
    ...(unread.outOfRange && { outOfRange: true }),
  }
  return { ...progress, done: true, holes: cover(holes, left), gap }
}

const isBehind = ({ generation, sequence }: WindowProgress, page: PageFacts): boolean =>
  page.generation < generation || (page.generation === generation && page.sequence < sequence)

/** True if no page is missing between a window's progress and that page. */
function isNextPage(progress: WindowProgress, page: PageFacts): boolean {
  if (progress.adrift || isBehind(progress, page)) return false
  if (page.generation === progress.generation)
    return page.sequence === progress.sequence && page.cursorIn === progress.cursor
  // A request that verifies a full last page begins one second after it.
  return (
    page.sequence === 1 && (page.beginMs == null || secondsTo(progress, page.beginMs) <= (progress.verifies ? 1 : 0))
  )
}

/** Returns the seconds from the window's position to a time, in reading order; 0 or less if it was already read. */
const secondsTo = (progress: WindowProgress, ms: number): number =>
  (secondOf(ms) - reachedBy(progress)) * readingOrder(progress.window).step

const between = (a: number, b: number): Interval => (a < b ? { from: a, to: b } : { from: b, to: a })

/** True if a page begins before the window's position or ends before its own beginning: the vendor ignored the requested order. */
function isDisordered(progress: WindowProgress, { sequence, beginMs, firstTsMs, lastTsMs }: PageFacts): boolean {
  const { window, disordered = false } = progress
  const { start, step } = readingOrder(window)
  const from = sequence === 1 && beginMs !== undefined ? (secondWithin(window, beginMs) ?? start) : reachedBy(progress)
  const first = secondWithin(window, firstTsMs ?? null) ?? from
  const last = secondWithin(window, lastTsMs) ?? first
  return disordered || (first - from) * step < 0 || (last - first) * step < 0
}

/**
 * Returns the holes of a window after one more page. Records of one second may be split between two pages: after a
 * missing page, the first and the last second of a page do not count as covered.
 */
function updateHoles(
  progress: WindowProgress,
  page: PageFacts,
): Pick<WindowProgress, 'holes' | 'adrift' | 'disordered'> {
  const { window, holes = [] } = progress
  const follows = isNextPage(progress, page)
  const { start, end, step } = readingOrder(window)
  const isWhole = follows && holes.length === 0
  if (!isBehind(progress, page) && isDisordered(progress, page))
    return { ...(!isWhole && { holes: [between(start, end)] }), disordered: true }
  if (isWhole || progress.disordered) return {}
  const reached = reachedBy(progress)
  const isBegun = !follows && page.sequence === 1 && page.beginMs !== undefined
  const begun = isBegun ? (secondWithin(window, page.beginMs!) ?? start) : null
  const first = follows ? reached : (begun ?? secondWithin(window, page.firstTsMs ?? null))
  const last = page.hasMore ? secondWithin(window, page.lastTsMs) : end
  let all: Coverage = holes
  // In the worst case, the missing page contained everything up to this page, or up to the window's end.
  if (!follows && !isBehind(progress, page)) all = cover(all, between(reached, first ?? end))
  if (first !== null && last !== null) {
    const from = follows || isBegun ? first : first + step
    const to = page.hasMore ? last - step : last
    if ((to - from) * step >= 0) all = without(all, between(from, to))
  }
  const isAdrift = !follows && page.hasMore && last === null && !isBehind(progress, page)
  return { holes: all, ...(isAdrift && { adrift: true }) }
}

/** Returns the intervals that a finished window covers: its range, without the holes. */
export const coveredBy = ({ window, holes = [] }: WindowProgress): Interval[] =>
  gaps(holes, { from: window.fromSec ?? 0, to: window.toSec })

/** A closed range in whole seconds; `from` null means the beginning of time. */
export interface PageRange extends Omit<Interval, 'from'> {
  from: number | null
}

/**
 * Returns the range of a page: from the previous page's last conversation to its own, or to the window's bound if it is the last page.
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
  // The range is reversed: the vendor ignored the requested order, and the page may contain any part of its window.
  return range.from !== null && range.from > range.to ? bounds : range
}

/**
 * Ends the range of the `earlier` page that led to the window's position `before` the next `page`, directly or through pages
 * without any `ts`. Conversations that the vendor skipped since then lie before the first one of the next page, or anywhere
 * in that page's range if it has no `ts`. Unchanged if a page between is missing, or if pages arrived out of order.
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
