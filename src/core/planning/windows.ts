// A window is a closed range of an agent's conversations on `ts`, or a list of ids, read page by page to its end.
//
//            land a page                last page            (nothing more is requested)
//   opened ───────────────▶ paging ───────────────────▶ done
//              ▲               │ no progress, a failed page,     ▲
//              │               │ or another limit                │ no progress from the same place again:
//              └───────────────┘ next generation, from           │ what is left unread is a gap
//                                the last `ts` that landed ──────┘
//
// A window's progress is a fold over the heads of its landed pages (`window-progress.ts`) and is stored nowhere else. Bounds are whole
// seconds, sent as milliseconds `[from·1000, to·1000+999]`, which tile without gap or overlap in whichever unit the vendor compares.

import type { ErrorCode } from '../errors.ts'
import { compactTimestamp } from '../time.ts'
import type { Coverage } from './coverage.ts'

const WINDOW_KINDS = ['head', 'tail', 'full', 'reread', 'selected', 'refresh', 'sample'] as const
/**
 * Over time: `head` reads new conversations, `tail` history, `full` everything again, `reread` a range that may hide
 * conversations. By id: `selected` exports conversations that a person named, `refresh` changed or old ones, `sample` a
 * few random ones, to measure how stale the others are.
 */
export type WindowKind = (typeof WINDOW_KINDS)[number]

const BY_ID: ReadonlySet<WindowKind> = new Set(['selected', 'refresh', 'sample'])

/** True for windows by id, which cover no time range. */
export const isById = (kind: WindowKind): boolean => BY_ID.has(kind)
export type Sort = 'asc' | 'desc'

/** The scope of a full export; each window of the export contains a copy. */
export interface FullScope {
  /** Ids of agents, sorted; empty for all agents. */
  agents: readonly string[]
  untilMs: number | null
}

export interface Window {
  name: string
  agentId: string
  kind: WindowKind
  /** First second; null for no lower bound (conversations without `ts` count as 0). */
  fromSec: number | null
  toSec: number
  /** First second of a poll's requests, since everything later was empty when it was read; null for no lower bound. */
  askFromSec?: number | null
  openedAtMs: number
  /** Ids of a window by id, in request order. */
  ids?: string[]
  /** For a `refresh` window: ids whose refresh no new message causes, and whose results are measured. */
  known?: string[]
  /** For a `full` window: the scope of its export. */
  full?: FullScope
  /** For a `reread` window: number of conversations skipped in its range. */
  skipped?: number
  /** Set for a window over the gap of another one. */
  gap?: {
    /** Order of its pages, instead of the order of its kind. */
    sort: Sort
    /** Time when the gap was first seen, ms of the server's clock. */
    sinceMs: number
    /** Number of requests for the gap so far, including this window; 0 if the window only approaches it from the other end. */
    tries: number
  }
}

export const sortOf = ({ kind, gap }: Pick<Window, 'kind' | 'gap'>): Sort =>
  gap?.sort ?? (kind === 'head' ? 'asc' : 'desc')

/**
 * Names the window like `20261120T204946123Z-tail-start-1732000000`: unique within its agent, sorted by opening time.
 */
export function openWindow(window: Omit<Window, 'name'>): Window {
  const { kind, ids, fromSec, toSec, gap } = window
  const bounds = isById(kind) ? `${ids?.length ?? 0}` : `${fromSec ?? 'start'}-${toSec}${gap ? `-${gap.sort}` : ''}`
  return { ...window, name: `${compactTimestamp(window.openedAtMs)}-${kind}-${bounds}` }
}

/** The largest pages after a failure. Plain JSON. */
export interface PageCap {
  limit: number
  /** Conversations to read before larger pages are requested: those in the failed page. */
  left: number
  /** Time before which no larger pages are requested, ms of the server's clock, because they took too long; 0 for none. */
  untilMs: number
  /** Number of times in a row that larger pages took too long. */
  slow: number
  /** Sessions that failed requests since the last landed page may have billed. */
  billedUpTo: number
  /** Time when the vendor last answered a request for an empty window although this page failed, ms of the server's clock. */
  provedMs: number
}

/** The part of a landed page's head that concerns its window. */
export interface PageFacts {
  window: Window
  generation: number
  /** Position within the generation, from 1. */
  sequence: number
  limit: number
  cursorIn: string | null
  cursorOut: string | null
  hasMore: boolean
  returned: number
  scanned: number | null
  billed: number | null
  /** Time of the request, ms of the server's clock. */
  atMs: number
  /** First `ts` in the page, ms. */
  firstTsMs?: number | null
  /** Time at which a next generation may begin (`restartPoint`). */
  lastTsMs: number | null
  /** Requested ids that were not returned; only for windows by id. */
  missing: string[]
  /** Bound at which the page's generation began, ms; null for the window's own bound. */
  beginMs?: number | null
  /** For a window by id: number of ids that earlier pages requested. */
  askedBefore?: number
  /** For a window by id: set if the page requested ids again. */
  again?: true
  /** Fingerprints of the ids in the page (`no-progress.ts`); only for windows over time. */
  ids?: string
  /** Number of records without a usable `ts` or `ID`; omitted for none. */
  undated?: number
  /** Set if the page has dated records and none is in the window, or if the vendor says that it answers another query. */
  outOfRange?: true
  /** The limit of pages after earlier failures. */
  cap?: PageCap
  /** Reason why this page ends the window before everything was read: no request from this position succeeded. */
  unread?: { code: ErrorCode; what: string; billedUpTo: number }
}

/** The part of a window that could not be read. */
export interface WindowGap {
  /** First second; null for no lower bound. */
  fromSec: number | null
  toSec: number
  code: ErrorCode
  what: string
  /** Times when it was first seen and last requested, ms of the server's clock. */
  sinceMs: number
  atMs: number
  tries: number
  /** Sessions that requests without a readable answer may have billed for it. */
  billedUpTo: number
  /** Set if the vendor answered with other ranges: no answer for the agent is reliable until the gap is requested again. */
  outOfRange?: true
}

export interface WindowProgress {
  window: Window
  done: boolean
  generation: number
  /** Sequence of the next page. */
  sequence: number
  cursor: string | null
  limit: number | null
  /** Position at which a next generation would begin: the `lastTsMs` of the newest landed page that has one. */
  lastTsMs: number | null
  /** Bound at which the current generation began, ms; null for the window's own bound. */
  restartMs: number | null
  /** Number of consecutive events without progress (`no-progress.ts`). */
  stalled: number
  /** Number of cursors that were refused, missing, repeated, or led to a page without a new record. */
  badCursors: number
  /** Fingerprints of the ids in the last pages, and of the sets of ids of all pages. */
  recentIds: string
  pageDigests: string
  /** Set after a full page that reports no further page: the next request begins after its last second. */
  verifies?: true
  /** Page limit after failed requests. */
  cap?: PageCap
  /** Set if a page had records without a usable `ts` or `ID`: they may lie anywhere in the window. */
  undated?: true
  /** For a window by id: number of ids requested so far. */
  asked: number
  /** Groups of ids to request again, because an answer left their state open. */
  again?: string[][]
  /** Number of pages requested for the groups in `again`. */
  pagesAgain?: number
  /** Maximum number of ids per page: half of those in the last refused page, doubled with each answered page. */
  mostIds?: number
  /** True if the vendor has confirmed that the agent exists, although it refuses ids. */
  hasAgent?: boolean
  /** Weighted number of consecutive empty pages (`no-progress.ts`). */
  idle: number
  pages: number
  returned: number
  /** Number of conversations that the vendor scanned; for pages without that number, of the returned conversations. */
  scanned: number
  billed: number
  /** Seconds that missing pages may have contained. The window does not cover them. Omitted for none. */
  holes?: Coverage
  /** Set after a missing page until a page has a `ts`: the position of the pages in between is unknown. */
  adrift?: true
  /** Set if pages arrived out of order: a missing page may have contained any part of the window. */
  disordered?: true
  /** Set if the window ended before everything was read. */
  gap?: WindowGap
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
  stalled: 0,
  badCursors: 0,
  recentIds: '',
  pageDigests: '',
  asked: 0,
  idle: 0,
  pages: 0,
  returned: 0,
  scanned: 0,
  billed: 0,
})

export const secondOf = (ms: number): number => Math.floor(ms / 1_000)

/**
 * Returns the `ts` at which a next generation may begin after a page whose records have these times, in the order of
 * the answer: the time of the last record. If the records are not in the requested order, returns the time that skips
 * no record, even if the next page overlaps. Ignores times outside of the window.
 */
export function restartPoint(window: Window, timesMs: readonly number[]): number | null {
  const times = timesMs.filter(ms => secondWithin(window, ms) !== null)
  const last = times.at(-1)
  if (last === undefined) return null
  const ascending = sortOf(window) === 'asc'
  // Compared in whole seconds, since some records may have times in seconds, others in milliseconds.
  const inOrder = times.every((ms, index) => {
    const step = index === 0 ? 0 : secondOf(ms) - secondOf(times[index - 1]!)
    return ascending ? step >= 0 : step <= 0
  })
  if (inOrder) return last
  return times.reduce((safest, ms) => (ascending ? Math.min(safest, ms) : Math.max(safest, ms)))
}

/** Returns the second that contains `ms`; null if there is no time, or it is outside of the window. */
export function secondWithin({ fromSec, toSec }: Pick<Window, 'fromSec' | 'toSec'>, ms: number | null): number | null {
  if (ms === null) return null
  const second = secondOf(ms)
  return second >= (fromSec ?? 0) && second <= toSec ? second : null
}

/** Returns the window's seconds in reading order: first, last, and step. */
export function readingOrder(window: Window): { start: number; end: number; step: 1 | -1 } {
  const from = window.fromSec ?? 0
  return sortOf(window) === 'asc'
    ? { start: from, end: window.toSec, step: 1 }
    : { start: window.toSec, end: from, step: -1 }
}

/** Returns the second that a window has reached. */
export const reachedBy = ({ window, lastTsMs }: WindowProgress): number =>
  secondWithin(window, lastTsMs) ?? readingOrder(window).start
