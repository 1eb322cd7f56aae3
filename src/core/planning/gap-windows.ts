// Windows over gaps. A window that cannot be read from one end is read from the other end at once, so that everything but the conversations between
// the two nearest readable ones arrives. What is left is requested again at growing intervals, from its middle towards both ends and in small
// pages at first: each time, at most the conversations around the unreadable ones stay in the gap.

import { DAY, SECOND } from '../time.ts'
import { type Coverage, type Interval, gaps as uncovered } from './coverage.ts'
import type { Gap } from './gaps.ts'
import { newProgress, openWindow, sortOf, type WindowProgress } from './windows.ts'

/**
 * The window that reads from the other end what this one could not; null if it is one itself, covers what is read already, or was answered with
 * other ranges.
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
 * The windows that request a gap again: from the middle of its range towards both ends; of a short one, a single window. A gap without a lower
 * bound has no middle: its windows begin ever longer before its end.
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

/** Gaps of one agent in which those that touch are one: between them nothing was read, and each further split would double their requests. */
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

/** The windows that request those gaps again that are due and not `claimed` by other windows, within `wanted`. */
export const dueGaps = (gaps: readonly Gap[], claimed: Coverage, wanted: Interval, nowMs: number): WindowProgress[] =>
  joined(gaps)
    .filter(gap => gap.retryAtMs <= nowMs)
    .flatMap(gap => {
      const range = { from: Math.max(wanted.from, gap.fromSec ?? 0), to: Math.min(wanted.to, gap.toSec) }
      return uncovered(claimed, range).flatMap(({ from, to }) =>
        gapWindows({ ...gap, fromSec: from <= 0 ? null : from, toSec: to }, nowMs),
      )
    })
