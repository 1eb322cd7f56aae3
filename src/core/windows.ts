// A window is one closed stretch of an agent's conversations on `ts`, paged to its end, or a list of ids.
//
//            land a page                last page            (asked again: nothing)
//   opened ───────────────▶ paging ───────────────────▶ done
//              ▲               │ cursor refused, or another limit
//              └───────────────┘ next generation, from the last `ts` that landed
//
// How far it is, is a fold over the heads of its landed pages: nothing else knows it. Bounds are whole seconds, sent as
// milliseconds `[from·1000, to·1000+999]`, which tile without gap or overlap in whichever unit the vendor compares.
import { compactTimestamp, EARLIEST_MS } from './time.ts'

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
  /** Pages in a row that looked at nothing; absent in windows of older versions. */
  idle?: number
  pages: number
  returned: number
  /** Conversations that the vendor looked at; what it did not tell counts as what it returned. */
  scanned: number
  billed: number
}

export const startOf = (window: Window): WindowProgress => ({
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

/** Folds one landed page into its window's progress. Pages of one window fold in order of generation and sequence. */
export function advance(progress: WindowProgress, page: PageFacts): WindowProgress {
  const byId = isById(progress.window.kind)
  const asked = progress.asked + (byId ? page.limit : 0)
  const next = page.generation > progress.generation ? restarted(progress) : progress
  return {
    ...next,
    generation: page.generation,
    sequence: page.sequence + 1,
    cursor: page.cursorOut,
    limit: page.limit,
    lastTsMs: page.lastTsMs ?? next.lastTsMs,
    asked,
    idle: (page.scanned ?? page.returned) > 0 ? 0 : (next.idle ?? 0) + 1,
    done: byId ? asked >= (progress.window.ids?.length ?? 0) : !page.hasMore,
    pages: next.pages + 1,
    returned: next.returned + page.returned,
    scanned: next.scanned + (page.scanned ?? page.returned),
    billed: next.billed + (page.billed ?? 0),
  }
}

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
    return { progress, query: { convoIds: progress.window.ids!.slice(progress.asked, progress.asked + limit) } }
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
export function idsFitting({ window, asked }: WindowProgress, maxCharacters = MAX_IDS_CHARACTERS): number {
  let characters = 0
  let count = 0
  for (const id of (window.ids ?? []).slice(asked, asked + MAX_IDS)) {
    // Half a surrogate pair has no encoding of its own.
    characters += encodeURIComponent(id.toWellFormed()).length + 1
    if (count > 0 && characters > maxCharacters) break
    count += 1
  }
  return count
}
