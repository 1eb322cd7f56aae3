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
export type Sort = 'asc' | 'desc'

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
  /** A poll's requests begin at this second, since everything later was empty when it was read; null: no lower bound. */
  askFromSec?: number | null
  openedAtMs: number
  /** Ids of a window by id, in request order. */
  ids?: string[]
  /** Of a `refresh` window: those of its ids whose refresh no new message causes; what they find is measured. */
  known?: string[]
  /** Of a `full` window: the scope of its export. */
  full?: FullScope
  /** Of a `reread` window: number of conversations skipped in its range. */
  skipped?: number
  /** Of a window over what another one could not read. */
  gap?: {
    /** Order of its pages, in place of that of its kind. */
    sort: Sort
    /** When the gap was first seen, ms of the server's clock. */
    sinceMs: number
    /** Number of times that the gap has been requested again, this window included; 0: the window only approaches it from the other end. */
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
  /** Conversations to read before larger pages are requested: those that the failed page held. */
  left: number
  /** Larger pages are requested only after this time, ms of the server's clock: pages of that size took too long. 0: no such time. */
  untilMs: number
  /** Number of times in a row that larger pages took too long. */
  slow: number
  /** Sessions that failed requests since the last landed page may have billed. */
  billedUpTo: number
  /** When the vendor last answered a request for an empty window although this page failed, ms of the server's clock. */
  provedMs: number
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
  /** When it was requested, ms of the server's clock. */
  atMs: number
  /** First `ts` in the page, ms. */
  firstTsMs?: number | null
  /** Where a next generation may begin (`restartPoint`). */
  lastTsMs: number | null
  /** Ids that were requested and not returned; only of windows by id. */
  missing: string[]
  /** Bound at which the page's generation began, ms; null: the window's own bound. */
  beginMs?: number | null
  /** Of a window by id: number of ids that earlier pages requested. */
  askedBefore?: number
  /** Of a window by id: the page requested ids once more. */
  again?: true
  /** Fingerprints of the ids in the page (`no-progress.ts`); only of windows over time. */
  ids?: string
  /** Number of records without a usable `ts` or `ID`; absent: none. */
  undated?: number
  /** True if the page has dated records and none lies in the window, or where the vendor says that it answers another query. */
  outOfRange?: true
  /** The limit of pages after earlier failures. */
  cap?: PageCap
  /** Why this page ends the window although not everything was read: no request from this place succeeded. */
  unread?: { code: ErrorCode; what: string; billedUpTo: number }
}

/** What a window could not read. */
export interface WindowGap {
  /** Null: no lower bound. */
  fromSec: number | null
  toSec: number
  code: ErrorCode
  what: string
  /** When it was first seen and last requested, ms of the server's clock. */
  sinceMs: number
  atMs: number
  tries: number
  /** Sessions that requests without a readable answer may have billed for it. */
  billedUpTo: number
  /** The vendor answered with records of other ranges: until the gap is requested again, no request of the agent can be relied on. */
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
  /** Where a next generation would begin: the `lastTsMs` of the newest landed page that has one. */
  lastTsMs: number | null
  /** Bound at which the current generation began, ms; null: the window's own bound. */
  restartMs: number | null
  /** Consecutive events without progress (`no-progress.ts`). */
  stalled: number
  /** Number of cursors that were refused, missing, repeated, or led to a page without a new record. */
  badCursors: number
  /** Fingerprints of the ids in the last pages, and of the sets of ids of all pages. */
  recentIds: string
  pageDigests: string
  /** Set after a full page that reports no further page: the next request asks behind its last second. */
  verifies?: true
  /** Limit of pages after requests that failed. */
  cap?: PageCap
  /** Set where a page had records without a usable `ts` or `ID`: they may lie anywhere in the window. */
  undated?: true
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
  /** Consecutive empty pages, weighted (`no-progress.ts`). */
  idle: number
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
  /** Set when the window ended without having read everything. */
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
 * `ts` at which a next generation may begin after a page whose records have these times, in the order of the answer: the time of the last
 * record. If the records are not in the requested order: the time that skips no record, even if the next page overlaps. Times outside of
 * the window are ignored.
 */
export function restartPoint(window: Window, timesMs: readonly number[]): number | null {
  const times = timesMs.filter(ms => secondWithin(window, ms) !== null)
  const last = times.at(-1)
  if (last === undefined) return null
  const ascending = sortOf(window) === 'asc'
  // Compared in whole seconds: some records may have times in seconds, others in milliseconds.
  const inOrder = times.every((ms, index) => {
    const step = index === 0 ? 0 : secondOf(ms) - secondOf(times[index - 1]!)
    return ascending ? step >= 0 : step <= 0
  })
  if (inOrder) return last
  return times.reduce((safest, ms) => (ascending ? Math.min(safest, ms) : Math.max(safest, ms)))
}

/** Returns the second that contains `ms`; null for no time, or for one outside of the window. */
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
