// A window is one closed stretch of an agent's conversations on `ts`, paged to its end, or a list of ids.
//
//            land a page                last page            (asked again: nothing)
//   opened ───────────────▶ paging ───────────────────▶ done
//              ▲               │ cursor refused, or another limit
//              └───────────────┘ next generation, from the last `ts` that landed
//
// How far it is, is a fold over the heads of its landed pages: nothing else knows it. Where a page between two of them is not there
// any more, what it may have held is a hole, which the window does not cover: it is planned anew, and nothing else is. Bounds are whole seconds, sent as
// milliseconds `[from·1000, to·1000+999]`, which tile without gap or overlap in whichever unit the vendor compares.

import { type Coverage, cover, gaps, type Interval, without } from './coverage.ts'
import { compactTimestamp, EARLIEST_MS } from './time.ts'
import { unansweredOf } from './unanswered.ts'

export const WINDOW_KINDS = ['head', 'tail', 'full', 'reread', 'selected', 'refresh', 'sample'] as const
/**
 * Over a stretch of time: `head` new conversations, `tail` history, `full` a second reading of everything, `reread` one of
 * a stretch that may hide something. By id: `selected` what a person asked for, `refresh` what has changed or grown old,
 * `sample` a few at random, to learn how stale the rest is.
 */
export type WindowKind = (typeof WINDOW_KINDS)[number]

const BY_ID: ReadonlySet<WindowKind> = new Set(['selected', 'refresh', 'sample'])

/** True for a window over ids; it covers no time. */
export const isById = (kind: WindowKind): boolean => BY_ID.has(kind)
export type Sort = 'asc' | 'desc'

/** What a full export was asked for; each of its windows carries it. */
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
  /** Of a `full` window: what its export was asked for. */
  full?: FullScope
  /** Of a `reread` window: how many conversations its stretch was known to hide. */
  skipped?: number
}

export const sortOf = (kind: WindowKind): Sort => (kind === 'head' ? 'asc' : 'desc')

/** `20261120T204946123Z-tail-start-1732000000`: unique to an agent, and sorts by the time it was opened. */
export function openWindow(window: Omit<Window, 'name'>): Window {
  const bounds = isById(window.kind) ? `${window.ids?.length ?? 0}` : `${window.fromSec ?? 'start'}-${window.toSec}`
  return { ...window, name: `${compactTimestamp(window.openedAtMs)}-${window.kind}-${bounds}` }
}

/** What a page's head tells about its window; the landing writes it, the fold below reads it. */
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
  /** `ts` of the first record of the page that has one, ms; absent in heads of before it was noted. */
  firstTsMs?: number | null
  /** `ts` behind which a next generation would begin, ms (`restartPoint`); null where the page has none. */
  lastTsMs: number | null
  /** Ids that were asked for and not answered. */
  missing: string[]
  /** Its ids had been asked for before, and were not told of one by one. */
  again?: boolean
  /** Bound that its generation began at, ms; null: the window's own. Absent in heads of before it was noted. */
  beginMs?: number | null
  /** Of a window by id: ids that pages before it asked for; absent likewise. */
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
  /** Where a next generation begins: the `ts` that the newest landed page told for it, ms. */
  lastTsMs: number | null
  /** Bound that the current generation began at, ms; null: the window's own. */
  restartMs: number | null
  /** Furthest sequence that any generation from that bound has reached; absent in windows of older versions. */
  reached?: number
  /** Generations in a row that came no further than the one before; absent likewise. */
  vain?: number
  /** Ids of a window by id that were asked for so far. */
  asked: number
  /** Ids to ask for once more, a group at a time: pages left it open what has become of each of them. */
  again?: string[][]
  /** Pages that were asked for such groups. */
  pagesAgain?: number
  /** Most ids that a page may ask for: half as many as in the last one that was refused. */
  mostIds?: number
  /** The vendor has the agent, though it refuses ids. */
  hasAgent?: boolean
  /** Pages in a row of this run that looked at nothing (`idleOf`); absent in windows of older versions. */
  idle?: number
  pages: number
  returned: number
  /** Conversations that the vendor looked at; what it did not tell counts as what it returned. */
  scanned: number
  billed: number
  /** What pages that are not there any more may have held: seconds that the window does not cover. Absent: none. */
  holes?: Coverage
  /** True behind a missing page, until a page tells a `ts`: nobody knows where in the window the pages since then lie. */
  adrift?: true
  /** True where pages did not come in the order that was asked for: what a missing one held may lie anywhere. */
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
 * `ts` at which a next generation may begin behind a page, out of the times of its records in the order in which they came: that
 * of the last one. Where they came in another order than was asked for, the one that leaves nothing behind, however the
 * next page overlaps with this one. A time outside of the window tells nothing: it is none that was asked for.
 */
export function restartPoint({ kind, fromSec, toSec }: Window, timesMs: readonly number[]): number | null {
  const times = timesMs.filter(ms => secondOf(ms) >= (fromSec ?? 0) && secondOf(ms) <= toSec)
  const last = times.at(-1)
  if (last === undefined) return null
  const ascending = sortOf(kind) === 'asc'
  // By whole seconds: some records may tell theirs in seconds, and others in milliseconds.
  const inOrder = times.every((ms, index) => {
    const step = index === 0 ? 0 : secondOf(ms) - secondOf(times[index - 1]!)
    return ascending ? step >= 0 : step <= 0
  })
  if (inOrder) return last
  return times.reduce((safest, ms) => (ascending ? Math.min(safest, ms) : Math.max(safest, ms)))
}

/** Pages of a window that may be asked for ids of which a page before left it open what has become of them; they bill nothing. */
const MAX_PAGES_AGAIN = 16

/** True where all ids have been asked for, and some are to be asked for again. */
export const isReaskingIds = ({ window, asked }: WindowProgress): boolean => asked >= (window.ids?.length ?? 0)

/** The ids to ask for next, in their order. */
const idsAhead = (progress: WindowProgress): readonly string[] =>
  isReaskingIds(progress) ? (progress.again?.[0] ?? []) : (progress.window.ids ?? []).slice(progress.asked)

/**
 * Folds a page of ids. Halves of those that it left open are asked for again until each is told of, or enough pages were; ids that a
 * page which is not there any more had asked for, behind all others.
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
    // Pages grow again behind one that was answered.
    ...(mostIds !== undefined && { mostIds: mostIds * (page.limit > page.missing.length ? 2 : 1) }),
  }
}

/** Behind a page of ids that was refused as a whole, for one of them perhaps: the next asks for half as many. */
export const withFewerIds = (progress: WindowProgress, refused: number): WindowProgress => ({
  ...progress,
  mostIds: Math.max(1, Math.floor(refused / 2)),
})

/**
 * A page without conversations has looked at none where the vendor says so. Where it does not say, it may have skipped all that it looked
 * at, and counts a quarter.
 */
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
  // One that was missing, and is there again: it fills its hole, and moves nothing.
  if (isBehind(progress, page)) return { ...progress, ...sums, ...(!byId && updateHoles(progress, page)) }
  const { adrift: _, ...next } = page.generation > progress.generation ? restarted(progress) : progress
  return {
    ...next,
    ...sums,
    // The cursor belongs to the query that its generation began with.
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

/** True where nothing is missing between where a window of time stands and that page. */
export function isNextPage(progress: WindowProgress, page: PageFacts): boolean {
  if (progress.adrift || isBehind(progress, page)) return false
  if (page.generation === progress.generation)
    return page.sequence === progress.sequence && page.cursorIn === progress.cursor
  return page.sequence === 1 && (page.beginMs == null || secondsTo(progress, page.beginMs) <= 0)
}

/** The second of a moment; null where there is none, or where it lies outside of what was asked for. */
export function secondWithin({ fromSec, toSec }: Pick<Window, 'fromSec' | 'toSec'>, ms: number | null): number | null {
  if (ms === null) return null
  const second = secondOf(ms)
  return second >= (fromSec ?? 0) && second <= toSec ? second : null
}

/** The window's seconds in the order in which it is read: its first, its last, and the step from one to the next. */
function readingOrder({ kind, fromSec, toSec }: Window): { start: number; end: number; step: 1 | -1 } {
  const from = fromSec ?? 0
  return sortOf(kind) === 'asc' ? { start: from, end: toSec, step: 1 } : { start: toSec, end: from, step: -1 }
}

/** The second that a window has reached. */
const reachedBy = ({ window, lastTsMs }: WindowProgress): number =>
  secondWithin(window, lastTsMs) ?? readingOrder(window).start

/** Seconds from where the window stands to a moment, as it is read; none or fewer: it has been there. */
const secondsTo = (progress: WindowProgress, ms: number): number =>
  (secondOf(ms) - reachedBy(progress)) * readingOrder(progress.window).step

const between = (a: number, b: number): Interval => (a < b ? { from: a, to: b } : { from: b, to: a })

/** True where a page begins before its window's place, or ends before it begins: the vendor's order is not what was asked for. */
function isDisordered(progress: WindowProgress, { sequence, beginMs, firstTsMs, lastTsMs }: PageFacts): boolean {
  const { window, disordered = false } = progress
  const { start, step } = readingOrder(window)
  const from = sequence === 1 && beginMs !== undefined ? (secondWithin(window, beginMs) ?? start) : reachedBy(progress)
  const first = secondWithin(window, firstTsMs ?? null) ?? from
  const last = secondWithin(window, lastTsMs) ?? first
  return disordered || (first - from) * step < 0 || (last - first) * step < 0
}

/**
 * Where a page lies in a window of time, and so which holes there are with it. Records of one second may lie on both sides of an
 * edge: behind a missing page nothing is known of the second in which a page begins, nor of that in which it ends.
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
  // Where nothing says less, what is missing lies anywhere to the end.
  if (!follows && !isBehind(progress, page)) all = cover(all, between(reached, first ?? end))
  if (first !== null && last !== null) {
    const from = follows || isBegun ? first : first + step
    const to = page.hasMore ? last - step : last
    if ((to - from) * step >= 0) all = without(all, between(from, to))
  }
  const isAdrift = !follows && page.hasMore && last === null && !isBehind(progress, page)
  return { holes: all, ...(isAdrift && { adrift: true }) }
}

/** What a window of time covers when it is done: all of it but its holes. */
export const coveredBy = ({ window, holes = [] }: WindowProgress): Interval[] =>
  gaps(holes, { from: window.fromSec ?? 0, to: window.toSec })

/** The same window under its next generation: from the last second that landed, inclusive; never from zero, never past it. */
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
 * The request for the window's next page, and the progress that it belongs to: another `limit` than the running
 * generation's begins a new one, because the cursor is bound to its query; so does a page that told of more without a
 * usable cursor.
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
  // A record may carry a `ts` outside of what was asked for; the bounds never do. And one that tells its `ts` in whole seconds
  // may stand anywhere within its second.
  const restart = current.restartMs === null ? null : secondOf(current.restartMs) * 1_000
  const fromTs = sort === 'asc' && restart !== null ? Math.min(Math.max(restart, from ?? 0), to) : from
  const toTs = sort === 'desc' && restart !== null ? Math.max(Math.min(restart + 999, to), from ?? 0) : to
  return {
    progress: current,
    query: {
      sort,
      limit,
      // A time that the vendor could read in the other unit is never sent: the request then asks for more than its window.
      ...(fromTs !== null && fromTs >= EARLIEST_MS && { fromTs }),
      toTs: Math.max(toTs, EARLIEST_MS + 999),
      ...(current.cursor !== null && { cursor: current.cursor }),
    },
  }
}

/** Ids that one selected request may carry: at most 500 (section 8), and a URL that proxies let through. */
export const MAX_IDS = 500
const MAX_IDS_CHARACTERS = 7_000

/** How many of the window's next ids fit one request. */
export function idsFitting(progress: WindowProgress, maxCharacters = MAX_IDS_CHARACTERS): number {
  let characters = 0
  let count = 0
  for (const id of idsAhead(progress).slice(0, Math.min(MAX_IDS, progress.mostIds ?? MAX_IDS))) {
    // Half a surrogate pair has no encoding of its own.
    characters += encodeURIComponent(id.toWellFormed()).length + 1
    if (count > 0 && characters > maxCharacters) break
    count += 1
  }
  return count
}
