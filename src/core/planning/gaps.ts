// Gaps: ranges of an agent's conversations that the vendor refused, or whose answers could not be read. They are
// requested again at growing intervals. Until then nothing may call the workspace up to date.

import type { ErrorCode } from '../errors.ts'
import { DAY, HOUR, SECOND } from '../time.ts'
import { type Coverage, type Interval, gaps as uncovered } from './coverage.ts'
import { newProgress, openWindow, sortOf, type WindowProgress } from './windows.ts'

/** A range of `ts` that could not be read; plain JSON. */
export interface Gap {
  agentId: string
  /** First second; null for the beginning of time. */
  fromSec: number | null
  /** Last second. */
  toSec: number
  /** Code of the last failure; `what` is its text. */
  code: ErrorCode
  what: string
  /** Time when it first could not be read, ms. */
  sinceMs: number
  tries: number
  /** Time of its next request, ms. */
  retryAtMs: number
  /** Set if the vendor answered with records of other ranges: nothing of the agent is requested before `retryAtMs`. */
  outOfRange?: true
}

/** Returns when to request a gap again, ms: after 1 h · 2^tries, at most a day. */
export const retryAtMs = ({ lastTriedMs, tries }: { lastTriedMs: number; tries: number }): number =>
  lastTriedMs + Math.min(DAY, HOUR * 2 ** tries)

/** Maximum number of gaps in a plan or a report. */
export const MAX_GAPS_REPORTED = 20

/** Facts about the completeness of a workspace, known to a sync or its plan. */
interface Reached {
  /** Outcome of the sync. */
  outcome: string
  /** Number of unfinished windows. */
  windowsLeft: number
  /** Number of conversation records in the quarantine; omitted for none. */
  unusable?: number
  /** True if agents are or may be left out: the list of agents may be short or unreadable, or an id cannot be requested. */
  agentsLeftOut?: boolean
}

/** True if the workspace is up to date: everything up to now is stored, as far as is known. Nothing else may decide this. */
export const isUpToDate = (
  { outcome, windowsLeft, unusable = 0, agentsLeftOut = false }: Reached,
  gaps: readonly Gap[] = [],
): boolean => outcome === 'done' && windowsLeft === 0 && unusable === 0 && !agentsLeftOut && gaps.length === 0

/** An agent whose export answered 404 is requested again, whether or not the list contains it: the list is no evidence. */
const MAX_BACKOFF_MS = 7 * DAY

/** Returns when to request an agent again, ms: an hour after the first 404, doubling up to a week. `refusedMs` is unsorted. */
export function agentBackoffUntilMs(refusedMs: readonly number[]): number {
  const times = [...refusedMs].sort((a, b) => a - b)
  // Several windows of one sync are refused within a short time.
  const tries = times.filter((ms, at) => at === 0 || ms - times[at - 1]! > HOUR / 2).length
  return tries === 0 ? 0 : times.at(-1)! + Math.min(MAX_BACKOFF_MS, HOUR * 2 ** (tries - 1))
}

/** True if the agent is not requested yet. Ignores a time beyond the longest interval, which a wrong clock has set. */
export const isBackingOff = (untilMs: number, nowMs: number): boolean =>
  untilMs > nowMs && untilMs - nowMs <= MAX_BACKOFF_MS

// Windows over gaps. A window that cannot be read from one end is immediately read from the other end, so that only the
// conversations between the two nearest readable ones are missing. The rest is requested again at growing intervals, from its middle
// towards both ends and in small pages at first: each time, at most the conversations around the unreadable ones stay in the gap.

/**
 * Returns the window that reads the unread rest from the other end. Null if this window is already one, covers what is
 * read already, or was answered with other ranges.
 */
export function otherEnd({ window, gap }: WindowProgress): WindowProgress | null {
  if (!gap || gap.outOfRange || window.gap || window.kind === 'reread') return null
  const { agentId } = window
  const { fromSec, toSec, sinceMs, atMs } = gap
  const kind = window.kind === 'full' ? 'tail' : window.kind
  const sort = sortOf(window) === 'asc' ? 'desc' : 'asc'
  return newProgress(openWindow({ agentId, kind, fromSec, toSec, openedAtMs: atMs, gap: { sort, sinceMs, tries: 0 } }))
}

const DAY_SEC = DAY / SECOND

/** Pages of a window that requests a gap again begin with one conversation. */
export const FIRST_PAGE = { limit: 1, left: 1, untilMs: 0, slow: 0, billedUpTo: 0, provedMs: 0 }

/**
 * Returns the windows that request a gap again, from the middle of its range towards both ends; for a short one, a
 * single window. A gap without a lower bound has no middle: its windows begin further and further before its end.
 */
function gapWindows({ agentId, fromSec, toSec, sinceMs, tries }: Gap, nowMs: number): WindowProgress[] {
  const from = fromSec ?? 0
  const middle = fromSec === null ? Math.max(0, toSec - DAY_SEC * 4 ** tries) : Math.floor((from + toSec) / 2)
  const halves: (Interval & { sort: 'asc' | 'desc' })[] =
    toSec - from < 2
      ? [{ from, to: toSec, sort: tries % 2 === 0 ? 'asc' : 'desc' }]
      : [
          { from: middle + 1, to: toSec, sort: 'asc' },
          { from, to: middle, sort: 'desc' },
        ]
  return halves.map(half => ({
    ...newProgress(
      openWindow({
        agentId,
        kind: 'tail',
        fromSec: half.from <= 0 ? null : half.from,
        toSec: half.to,
        openedAtMs: nowMs,
        gap: { sort: half.sort, sinceMs, tries: tries + 1 },
      }),
    ),
    cap: FIRST_PAGE,
  }))
}

/** Merges touching gaps of one agent: between them nothing was read, and each split would double their requests. */
function joined(gaps: readonly Gap[]): Gap[] {
  const all: Gap[] = []
  for (const gap of gaps.toSorted((a, b) => a.toSec - b.toSec)) {
    const last = all.at(-1)
    if (last === undefined || (gap.fromSec ?? 0) > last.toSec + 1) all.push(gap)
    else {
      const [fromSec, tries] = [last.fromSec, Math.max(last.tries, gap.tries)]
      const [sinceMs, retryAtMs] = [Math.min(last.sinceMs, gap.sinceMs), Math.max(last.retryAtMs, gap.retryAtMs)]
      all[all.length - 1] = { ...last, ...gap, fromSec, tries, sinceMs, retryAtMs }
    }
  }
  return all
}

/** Returns the windows that request due gaps again, within `wanted` and where no other window has `claimed` the range. */
export const dueGaps = (gaps: readonly Gap[], claimed: Coverage, wanted: Interval, nowMs: number): WindowProgress[] =>
  joined(gaps)
    .filter(gap => gap.retryAtMs <= nowMs)
    .flatMap(gap => {
      const range = { from: Math.max(wanted.from, gap.fromSec ?? 0), to: Math.min(wanted.to, gap.toSec) }
      return uncovered(claimed, range).flatMap(({ from, to }) =>
        gapWindows({ ...gap, fromSec: from <= 0 ? null : from, toSec: to }, nowMs),
      )
    })
