// A window is a closed range of an agent's conversations on `ts`, or a list of ids, read page by page to its end.
//
//            land a page                last page            (nothing more is requested)
//   opened ───────────────▶ paging ───────────────────▶ done
//              ▲               │ cursor refused, or another limit
//              └───────────────┘ next generation, from the last `ts` that landed
//
// A window's progress is a fold over the heads of its landed pages and is stored nowhere else. The seconds that a missing page may have
// held are a hole: the window does not cover them, and only they are planned again. Bounds are whole seconds, sent as milliseconds
// `[from·1000, to·1000+999]`, which tile without gap or overlap in whichever unit the vendor compares.

import { compactTimestamp, EARLIEST_MS } from '../time.ts'
import { type Coverage, cover, gaps, type Interval, without } from './coverage.ts'
import { unansweredOf } from './unanswered-ids.ts'

export const WINDOW_KINDS = ['head', 'tail', 'full', 'reread', 'selected', 'refresh', 'sample'] as const
/**
 * Over time: `head` reads new conversations, `tail` history, `full` everything again, `reread` a range that may hide conversations. By id:
 * `selected` exports conversations that a person named, `refresh` changed or old ones, `sample` a few random ones, to measure how stale the
 * others are.
 */
export type WindowKind = (typeof WINDOW_KINDS)[number]

const BY_ID: ReadonlySet<WindowKind> = new Set(['selected', 'refresh', 'sample'])

/** True for windows by id, which cover no time range. */
export const isById = (kind: WindowKind): boolean => BY_ID.has(kind)
type Sort = 'asc' | 'desc'

/** The scope of a full export; each window of the export contains a copy. */
export interface FullScope {
  /** Ids of agents, sorted; empty: all agents. */
  agents: readonly string[]
  untilMs: number | null
}

export interface Window {
  name: string
  agentId: string
  kind: WindowKind
  /** First second; null: no lower bound (conversations without `ts` count as 0). */
  fromSec: number | null
  toSec: number
  openedAtMs: number
  /** Ids of a window by id, in request order. */
  ids?: string[]
  /** Of a `full` window: the scope of its export. */
  full?: FullScope
  /** Of a `reread` window: number of conversations skipped in its range. */
  skipped?: number
}

export const sortOf = (kind: WindowKind): Sort => (kind === 'head' ? 'asc' : 'desc')

/** Names a window `20261120T204946123Z-tail-start-1732000000`: unique within its agent; names sort by opening time. */
export function openWindow(window: Omit<Window, 'name'>): Window {
  const bounds = isById(window.kind) ? `${window.ids?.length ?? 0}` : `${window.fromSec ?? 'start'}-${window.toSec}`
  return { ...window, name: `${compactTimestamp(window.openedAtMs)}-${window.kind}-${bounds}` }
}

/** The part of a landed page's head that concerns its window. */
export interface PageFacts {
  window: Window
  generation: number
  /** From 1, within the generation. */
  sequence: number
  limit: number
  cursorIn: string | null
  cursorOut: string | null
  hasMore: boolean
  returned: number
  scanned: number | null
  billed: number | null
  /** First `ts` in the page, ms; absent in old heads. */
  firstTsMs?: number | null
  /** `ts` at which a next generation would begin, ms (`restartPoint`); null where no record of the page has a usable `ts`. */
  lastTsMs: number | null
  /** Requested ids that the answer does not contain. */
  missing: string[]
  /** True where the page requests ids of an earlier page once more, because that page's answer left open what became of each. */
  again?: boolean
  /** Bound at which the page's generation began, ms; null: the window's own bound. Absent in old heads. */
  beginMs?: number | null
  /** Of a window by id: number of ids that earlier pages requested; absent in old heads. */
  askedBefore?: number
}

export interface WindowProgress {
  window: Window
  done: boolean
  generation: number
  /** Sequence of the next page. */
  sequence: number
  cursor: string | null
  limit: number | null
  /** Where a next generation would begin: the `lastTsMs` of the newest landed page that has one. */
  lastTsMs: number | null
  /** Bound at which the current generation began, ms; null: the window's own bound. */
  restartMs: number | null
  /** Highest sequence that any generation begun at `restartMs` has reached; absent in windows of older versions. */
  reached?: number
  /** Consecutive generations without progress; absent in windows of older versions. */
  vain?: number
  /** Of a window by id: number of ids requested so far. */
  asked: number
  /** Groups of ids to request once more, because an answer left open what became of each. */
  again?: string[][]
  /** Number of pages requested for the groups in `again`. */
  pagesAgain?: number
  /** Maximum number of ids per page: half of those in the last refused page, doubled with each answered page. */
  mostIds?: number
  /** The vendor has confirmed that the agent exists, although it refuses ids. */
  hasAgent?: boolean
  /** Consecutive pages in this run for which the vendor looked at no conversation (`idleWeight`); absent in windows of older versions. */
  idle?: number
  pages: number
  returned: number
  /** Conversations that the vendor looked at; for pages without that number, the returned conversations. */
  scanned: number
  billed: number
  /** Seconds that missing pages may have held and that the window does not cover. Absent: none. */
  holes?: Coverage
  /** Set after a missing page until a page has a `ts`: the position of the pages in between is unknown. */
  adrift?: true
  /** Pages did not arrive in the requested order: a missing page may have held any part of the window. */
  disordered?: true
}

export const newProgress = (window: Window): WindowProgress => ({
  window,
  done: false,
  generation: 1,
  sequence: 1,
  cursor: null,
  limit: null,
  lastTsMs: null,
  restartMs: null,
  asked: 0,
  idle: 0,
  pages: 0,
  returned: 0,
  scanned: 0,
  billed: 0,
})

const secondOf = (ms: number): number => Math.floor(ms / 1_000)

/**
 * `ts` at which a next generation may begin after a page whose records have these times, in the order of the answer: the time of the last
 * record. If the records are not in the requested order: the time that skips no record, even if the next page overlaps. Times outside of
 * the window are ignored.
 */
export function restartPoint({ kind, fromSec, toSec }: Window, timesMs: readonly number[]): number | null {
  const times = timesMs.filter(ms => secondOf(ms) >= (fromSec ?? 0) && secondOf(ms) <= toSec)
  const last = times.at(-1)
  if (last === undefined) return null
  const ascending = sortOf(kind) === 'asc'
  // Compared in whole seconds: some records may have times in seconds, others in milliseconds.
  const inOrder = times.every((ms, index) => {
    const step = index === 0 ? 0 : secondOf(ms) - secondOf(times[index - 1]!)
    return ascending ? step >= 0 : step <= 0
  })
  if (inOrder) return last
  return times.reduce((safest, ms) => (ascending ? Math.min(safest, ms) : Math.max(safest, ms)))
}

/** Maximum number of pages per window that request ids once more; such pages bill nothing. */
const MAX_PAGES_AGAIN = 16

/** True where all ids have been requested, and only ids to be requested once more are left. */
export const isReaskingIds = ({ window, asked }: WindowProgress): boolean => asked >= (window.ids?.length ?? 0)

/** The ids to request next, in order. */
const idsAhead = (progress: WindowProgress): readonly string[] =>
  isReaskingIds(progress) ? (progress.again?.[0] ?? []) : (progress.window.ids ?? []).slice(progress.asked)

/**
 * Folds a page of ids. Ids whose state its answer left open are requested again in halves, until the state of each is known or
 * MAX_PAGES_AGAIN is reached. Ids of missing pages are requested last.
 */
function advanceIds(progress: WindowProgress, page: PageFacts): Partial<WindowProgress> {
  const { window, asked, again = [], pagesAgain = 0, mostIds } = progress
  const before = Math.max(asked, page.askedBefore ?? asked)
  const ids = window.ids ?? []
  const all = [...ids, ...ids.slice(asked, before)]
  const now = before + (page.again ? 0 : page.limit)
  const rest = page.again ? [again[0]?.slice(page.limit) ?? [], ...again.slice(1)] : again
  const { either } = unansweredOf(page)
  const half = Math.ceil(either.length / 2)
  const made = pagesAgain + (page.again ? 1 : 0)
  const groups = [...rest, either.slice(0, half), either.slice(half)].filter(group => group.length > 0)
  const left = made < MAX_PAGES_AGAIN ? groups : []
  return {
    window: before > asked ? { ...window, ids: all } : window,
    asked: now,
    done: now >= all.length && left.length === 0,
    ...((left.length > 0 || again.length > 0) && { again: left }),
    ...(made > 0 && { pagesAgain: made }),
    // After a page with at least one conversation, the next page may request twice as many ids.
    ...(mostIds !== undefined && { mostIds: mostIds * (page.limit > page.missing.length ? 2 : 1) }),
  }
}

/** After a refused page of ids: the next page requests half as many, since perhaps only one id caused the refusal. */
export const withFewerIds = (progress: WindowProgress, refused: number): WindowProgress => ({
  ...progress,
  mostIds: Math.max(1, Math.floor(refused / 2)),
})

/** 1 for a page for which the vendor looked at no conversation; 0.25 for an empty page without that number: it may have skipped some. */
const idleWeight = ({ scanned, returned }: PageFacts): number => {
  if ((scanned ?? returned) > 0) return 0
  return scanned === null ? 0.25 : 1
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
  const { adrift: _, ...next } = page.generation > progress.generation ? restarted(progress) : progress
  return {
    ...next,
    ...sums,
    // The page's cursor is valid only for queries from the bound at which the generation began.
    ...(page.beginMs !== undefined && { restartMs: page.beginMs }),
    generation: page.generation,
    sequence: page.sequence + 1,
    cursor: page.cursorOut,
    limit: page.limit,
    lastTsMs: page.lastTsMs ?? next.lastTsMs,
    idle: idleWeight(page) === 0 ? 0 : (next.idle ?? 0) + idleWeight(page),
    ...(byId ? advanceIds(progress, page) : { done: progress.done || !page.hasMore, ...updateHoles(progress, page) }),
  }
}

const isBehind = ({ generation, sequence }: WindowProgress, page: PageFacts): boolean =>
  page.generation < generation || (page.generation === generation && page.sequence < sequence)

/** True where no page is missing between a window's progress and that page. */
export function isNextPage(progress: WindowProgress, page: PageFacts): boolean {
  if (progress.adrift || isBehind(progress, page)) return false
  if (page.generation === progress.generation)
    return page.sequence === progress.sequence && page.cursorIn === progress.cursor
  return page.sequence === 1 && (page.beginMs == null || secondsTo(progress, page.beginMs) <= 0)
}

/** The second that contains `ms`; null for no time, or for one outside of the window. */
export function secondWithin({ fromSec, toSec }: Pick<Window, 'fromSec' | 'toSec'>, ms: number | null): number | null {
  if (ms === null) return null
  const second = secondOf(ms)
  return second >= (fromSec ?? 0) && second <= toSec ? second : null
}

/** The window's seconds in reading order: first, last, and step. */
function readingOrder({ kind, fromSec, toSec }: Window): { start: number; end: number; step: 1 | -1 } {
  const from = fromSec ?? 0
  return sortOf(kind) === 'asc' ? { start: from, end: toSec, step: 1 } : { start: toSec, end: from, step: -1 }
}

/** The second that a window has reached. */
const reachedBy = ({ window, lastTsMs }: WindowProgress): number =>
  secondWithin(window, lastTsMs) ?? readingOrder(window).start

/** Seconds from the window's position to a time, in reading order; 0 or less: already read. */
const secondsTo = (progress: WindowProgress, ms: number): number =>
  (secondOf(ms) - reachedBy(progress)) * readingOrder(progress.window).step

const between = (a: number, b: number): Interval => (a < b ? { from: a, to: b } : { from: b, to: a })

/** True where a page begins before the window's position or ends before its own beginning: the vendor ignored the requested order. */
function isDisordered(progress: WindowProgress, { sequence, beginMs, firstTsMs, lastTsMs }: PageFacts): boolean {
  const { window, disordered = false } = progress
  const { start, step } = readingOrder(window)
  const from = sequence === 1 && beginMs !== undefined ? (secondWithin(window, beginMs) ?? start) : reachedBy(progress)
  const first = secondWithin(window, firstTsMs ?? null) ?? from
  const last = secondWithin(window, lastTsMs) ?? first
  return disordered || (first - from) * step < 0 || (last - first) * step < 0
}

/**
 * The holes of a window after one more page. Records of one second may be split between two pages: after a missing page, the first and the
 * last second of a page do not count as covered.
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
  // In the worst case, the missing page held everything up to this page, or up to the window's end.
  if (!follows && !isBehind(progress, page)) all = cover(all, between(reached, first ?? end))
  if (first !== null && last !== null) {
    const from = follows || isBegun ? first : first + step
    const to = page.hasMore ? last - step : last
    if ((to - from) * step >= 0) all = without(all, between(from, to))
  }
  const isAdrift = !follows && page.hasMore && last === null && !isBehind(progress, page)
  return { holes: all, ...(isAdrift && { adrift: true }) }
}

/** What a finished window covers: its range, without the holes. */
export const coveredBy = ({ window, holes = [] }: WindowProgress): Interval[] =>
  gaps(holes, { from: window.fromSec ?? 0, to: window.toSec })

/** Begins the next generation of a window at the last landed second, inclusive: neither at the window's start nor after that second. */
export function restarted(progress: WindowProgress): WindowProgress {
  const { lastTsMs, restartMs, sequence, reached = 0, vain = 0 } = progress
  const elsewhere = lastTsMs !== null && lastTsMs !== restartMs
  return {
    ...progress,
    generation: progress.generation + 1,
    sequence: 1,
    cursor: null,
    limit: null,
    restartMs: lastTsMs ?? restartMs,
    reached: elsewhere ? sequence : Math.max(reached, sequence),
    vain: elsewhere || sequence > reached ? 0 : vain + 1,
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
 * The request for the window's next page, and the progress to which that page will belong. Another `limit` begins a new generation,
 * because a cursor is bound to its query; so does a page with `hasMore` but without a usable cursor.
 */
export function nextRequest(progress: WindowProgress, limit: number): { progress: WindowProgress; query: WindowQuery } {
  if (isById(progress.window.kind)) {
    const most = Math.min(limit, progress.mostIds ?? limit)
    return { progress, query: { convoIds: idsAhead(progress).slice(0, most) } }
  }
  const otherLimit = progress.limit !== null && progress.limit !== limit
  const cursorLost = progress.cursor === null && progress.sequence > 1
  const current = otherLimit || cursorLost ? restarted(progress) : progress
  const sort = sortOf(current.window.kind)
  const { fromSec, toSec } = current.window
  const from = fromSec === null ? null : fromSec * 1_000
  const to = toSec * 1_000 + 999
  // A record's `ts` may lie outside of the window, a bound may not. Bounds include whole seconds, because a `ts` in seconds is inexact.
  const restart = current.restartMs === null ? null : secondOf(current.restartMs) * 1_000
  const fromTs = sort === 'asc' && restart !== null ? Math.min(Math.max(restart, from ?? 0), to) : from
  const toTs = sort === 'desc' && restart !== null ? Math.max(Math.min(restart + 999, to), from ?? 0) : to
  return {
    progress: current,
    query: {
      sort,
      limit,
      // A time that the vendor could read in another unit is never sent; without it, the request covers more than its window.
      ...(fromTs !== null && fromTs >= EARLIEST_MS && { fromTs }),
      toTs: Math.max(toTs, EARLIEST_MS + 999),
      ...(current.cursor !== null && { cursor: current.cursor }),
    },
  }
}

/** Limits of the ids in one request: 500 ids (section 8), and a URL that proxies accept. */
const MAX_IDS = 500
const MAX_IDS_CHARACTERS = 7_000

/** How many of the window's next ids fit one request. */
export function idsFitting(progress: WindowProgress, maxCharacters = MAX_IDS_CHARACTERS): number {
  let characters = 0
  let count = 0
  for (const id of idsAhead(progress).slice(0, Math.min(MAX_IDS, progress.mostIds ?? MAX_IDS))) {
    // encodeURIComponent throws for a lone surrogate.
    characters += encodeURIComponent(id.toWellFormed()).length + 1
    if (count > 0 && characters > maxCharacters) break
    count += 1
  }
  return count
}
