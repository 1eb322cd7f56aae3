// A window is a closed range of an agent's conversations on `ts`, or a list of ids, read page by page to its end.
//
//            land a page                last page            (requested again: nothing)
//   opened ───────────────▶ paging ───────────────────▶ done
//              ▲               │ cursor refused, or another limit
//              └───────────────┘ next generation, from the last `ts` that landed
//
// Its progress is a fold over the heads of its landed pages and is stored nowhere else. Where a page is missing, the seconds that it may have
// held are a hole: the window does not cover them, and only they are planned again. Bounds are whole seconds, sent as milliseconds
// `[from·1000, to·1000+999]`, which tile without gap or overlap in whichever unit the vendor compares.

import { compactTimestamp, EARLIEST_MS } from '../time.ts'
import { type Coverage, cover, gaps, type Interval, without } from './coverage.ts'
import { unansweredOf } from './unanswered-ids.ts'

export const WINDOW_KINDS = ['head', 'tail', 'full', 'reread', 'selected', 'refresh', 'sample'] as const
/**
 * Over time: `head` new conversations, `tail` history, `full` everything again, `reread` a range that may hide conversations. By id:
 * `selected` named by a person, `refresh` changed or old ones, `sample` a few random ones, to learn how stale the rest is.
 */
export type WindowKind = (typeof WINDOW_KINDS)[number]

const BY_ID: ReadonlySet<WindowKind> = new Set(['selected', 'refresh', 'sample'])

/** True for windows over ids; they cover no time. */
export const isById = (kind: WindowKind): boolean => BY_ID.has(kind)
type Sort = 'asc' | 'desc'

/** What a full export includes; each of its windows carries it. */
export interface FullScope {
  /** Sorted; empty: all. */
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
  /** Of a `reread` window: skipped conversations in its range. */
  skipped?: number
}

export const sortOf = (kind: WindowKind): Sort => (kind === 'head' ? 'asc' : 'desc')

/** `20261120T204946123Z-tail-start-1732000000`: unique to an agent, and sorts by the time it was opened. */
export function openWindow(window: Omit<Window, 'name'>): Window {
  const bounds = isById(window.kind) ? `${window.ids?.length ?? 0}` : `${window.fromSec ?? 'start'}-${window.toSec}`
  return { ...window, name: `${compactTimestamp(window.openedAtMs)}-${window.kind}-${bounds}` }
}

/** The part of a page's head that concerns its window, as it landed. */
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
  /** `ts` at which a next generation would begin, ms (`restartPoint`); null where the page has none. */
  lastTsMs: number | null
  /** Requested ids without an answer. */
  missing: string[]
  /** Its ids were requested before, and that answer did not show what became of each. */
  again?: boolean
  /** Bound at which its generation began, ms; null: the window's own. Absent in old heads. */
  beginMs?: number | null
  /** Of a window by id: ids that earlier pages requested; absent in old heads. */
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
  /** Where a next generation begins: `lastTsMs` of the newest landed page that has one. */
  lastTsMs: number | null
  /** Bound at which the current generation began, ms; null: the window's own. */
  restartMs: number | null
  /** Furthest sequence that any generation from that bound has reached; absent in windows of older versions. */
  reached?: number
  /** Consecutive generations without progress; absent in windows of older versions. */
  vain?: number
  /** Of a window by id: ids requested so far. */
  asked: number
  /** Groups of ids to request again, because an answer did not show what became of each. */
  again?: string[][]
  /** Pages requested for such groups. */
  pagesAgain?: number
  /** Most ids per page: half of the last page that was refused. */
  mostIds?: number
  /** The vendor has the agent, though it refuses ids. */
  hasAgent?: boolean
  /** Consecutive pages of this run that looked at no conversation (`idleWeight`); absent in windows of older versions. */
  idle?: number
  pages: number
  returned: number
  /** Conversations that the vendor looked at; where it does not report them, those that it returned. */
  scanned: number
  billed: number
  /** Seconds that missing pages may have held and that the window does not cover. Absent: none. */
  holes?: Coverage
  /** After a missing page, until a page has a `ts`: the position of the pages between is unknown. */
  adrift?: true
  /** Pages did not come in the requested order: a missing one may have held any part of the window. */
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
 * `ts` at which a next generation may begin after a page, by the times of its records in the order in which they came: that of the last
 * one. If they are not in the requested order, the time that skips no record, even if the next page overlaps. Times outside of the window
 * are ignored.
 */
export function restartPoint({ kind, fromSec, toSec }: Window, timesMs: readonly number[]): number | null {
  const times = timesMs.filter(ms => secondOf(ms) >= (fromSec ?? 0) && secondOf(ms) <= toSec)
  const last = times.at(-1)
  if (last === undefined) return null
  const ascending = sortOf(kind) === 'asc'
  // By whole seconds: some records may have seconds, others milliseconds.
  const inOrder = times.every((ms, index) => {
    const step = index === 0 ? 0 : secondOf(ms) - secondOf(times[index - 1]!)
    return ascending ? step >= 0 : step <= 0
  })
  if (inOrder) return last
  return times.reduce((safest, ms) => (ascending ? Math.min(safest, ms) : Math.max(safest, ms)))
}

/** Pages of a window that may request ids once more; they bill nothing. */
const MAX_PAGES_AGAIN = 16

/** True where all ids have been requested, and only ids to request again are left. */
export const isReaskingIds = ({ window, asked }: WindowProgress): boolean => asked >= (window.ids?.length ?? 0)

/** The next ids, in order. */
const idsAhead = (progress: WindowProgress): readonly string[] =>
  isReaskingIds(progress) ? (progress.again?.[0] ?? []) : (progress.window.ids ?? []).slice(progress.asked)

/**
 * Folds a page of ids. Ids whose state it did not show are requested again in halves, until each is known or MAX_PAGES_AGAIN is reached. Ids
 * of missing pages are requested last.
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
    // After an answered page, the next one requests more ids again.
    ...(mostIds !== undefined && { mostIds: mostIds * (page.limit > page.missing.length ? 2 : 1) }),
  }
}

/** After a page of ids was refused, perhaps because of one of them: the next page requests half as many. */
export const withFewerIds = (progress: WindowProgress, refused: number): WindowProgress => ({
  ...progress,
  mostIds: Math.max(1, Math.floor(refused / 2)),
})

/** 1 for a page that looked at no conversation; a quarter where the vendor does not report that, because it may have skipped some. */
const idleWeight = ({ scanned, returned }: PageFacts): number => {
  if ((scanned ?? returned) > 0) return 0
  return scanned === null ? 0.25 : 1
}

/** Folds one landed page into its window's progress. Pages of one window fold in order of generation and sequence. */
export function advance(progress: WindowProgress, page: PageFacts): WindowProgress {
  const sums = {
    pages: progress.pages + 1,
    returned: progress.returned + page.returned,
    scanned: progress.scanned + (page.scanned ?? page.returned),
    billed: progress.billed + (page.billed ?? 0),
  }
  const byId = isById(progress.window.kind)
  // A missing page that is back fills its hole and moves nothing.
  if (isBehind(progress, page)) return { ...progress, ...sums, ...(!byId && updateHoles(progress, page)) }
  const { adrift: _, ...next } = page.generation > progress.generation ? restarted(progress) : progress
  return {
    ...next,
    ...sums,
    // The cursor belongs to its generation's first query.
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

/** The second of a time; null where there is none, or it is outside of the window. */
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

/** Seconds in reading order from the window's progress to a time; 0 or less: already read. */
const secondsTo = (progress: WindowProgress, ms: number): number =>
  (secondOf(ms) - reachedBy(progress)) * readingOrder(progress.window).step

const between = (a: number, b: number): Interval => (a < b ? { from: a, to: b } : { from: b, to: a })

/** True where a page begins before its window's progress, or ends before it begins: the vendor ignored the requested order. */
function isDisordered(progress: WindowProgress, { sequence, beginMs, firstTsMs, lastTsMs }: PageFacts): boolean {
  const { window, disordered = false } = progress
  const { start, step } = readingOrder(window)
  const from = sequence === 1 && beginMs !== undefined ? (secondWithin(window, beginMs) ?? start) : reachedBy(progress)
  const first = secondWithin(window, firstTsMs ?? null) ?? from
  const last = secondWithin(window, lastTsMs) ?? first
  return disordered || (first - from) * step < 0 || (last - first) * step < 0
}

/**
 * The holes of a window with a page at its position. Records of one second may lie on both sides of an edge: after a missing page, the
 * first and the last second of a page are not covered.
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
  // At most, the missing page held everything to the end.
  if (!follows && !isBehind(progress, page)) all = cover(all, between(reached, first ?? end))
  if (first !== null && last !== null) {
    const from = follows || isBegun ? first : first + step
    const to = page.hasMore ? last - step : last
    if ((to - from) * step >= 0) all = without(all, between(from, to))
  }
  const isAdrift = !follows && page.hasMore && last === null && !isBehind(progress, page)
  return { holes: all, ...(isAdrift && { adrift: true }) }
}

/** What a finished window covers: its range without holes. */
export const coveredBy = ({ window, holes = [] }: WindowProgress): Interval[] =>
  gaps(holes, { from: window.fromSec ?? 0, to: window.toSec })

/** The next generation of a window: from the last second that landed, inclusive; never from the start, never beyond it. */
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
 * The request for the window's next page, and the progress that it belongs to. Another `limit` begins a new generation, because a cursor
 * is bound to its query; so does a page with `hasMore` but without a usable cursor.
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
  // A record's `ts` may lie outside of the window; bounds never do. A `ts` in whole seconds may lie anywhere within its second.
  const restart = current.restartMs === null ? null : secondOf(current.restartMs) * 1_000
  const fromTs = sort === 'asc' && restart !== null ? Math.min(Math.max(restart, from ?? 0), to) : from
  const toTs = sort === 'desc' && restart !== null ? Math.max(Math.min(restart + 999, to), from ?? 0) : to
  return {
    progress: current,
    query: {
      sort,
      limit,
      // A time that the vendor could read in another unit is never sent: the request then covers more than its window.
      ...(fromTs !== null && fromTs >= EARLIEST_MS && { fromTs }),
      toTs: Math.max(toTs, EARLIEST_MS + 999),
      ...(current.cursor !== null && { cursor: current.cursor }),
    },
  }
}

/** Ids per request: at most 500 (section 8), in a URL that proxies accept. */
const MAX_IDS = 500
const MAX_IDS_CHARACTERS = 7_000

/** How many of the window's next ids fit one request. */
export function idsFitting(progress: WindowProgress, maxCharacters = MAX_IDS_CHARACTERS): number {
  let characters = 0
  let count = 0
  for (const id of idsAhead(progress).slice(0, Math.min(MAX_IDS, progress.mostIds ?? MAX_IDS))) {
    // A lone surrogate has no encoding.
    characters += encodeURIComponent(id.toWellFormed()).length + 1
    if (count > 0 && characters > maxCharacters) break
    count += 1
  }
  return count
}
