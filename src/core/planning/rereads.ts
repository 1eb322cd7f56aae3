// Rereads export ranges again that may hide conversations.
//
// The export skips conversations in which no person has written yet, and reports only how many it scanned. Conversations that enter
// the mirror late appear in seconds that a head window has already read. Reading a range again finds both, and bills the range's
// conversations again. Unless pages have shifted, a range is read again only while conversations may still appear in it (`horizonMs`),
// at growing intervals, and if it is expected to yield a minimum of finds per session. The best ranges come first, within a budget.
import { DAY } from '../time.ts'
import type { Estimate } from './estimate.ts'
import { newProgress, openWindow, type WindowProgress } from './windows.ts'

/** Range of a page, as of its last reading. */
export interface ReadRange {
  agentId: string
  /** First second; null for the beginning of time. */
  fromSec: number | null
  toSec: number
  readAtMs: number
  scanned: number
  returned: number
  /** Number of skipped conversations that are known from events. */
  knownFromEvents: number
  /** Number of billed sessions. */
  sessions: number
  /** Set if a record left the window during the reading, so that others may be missing (ADR 6): read again once, immediately. */
  shifted?: true
}

export interface RereadOptions {
  ranges: readonly ReadRange[]
  nowMs: number
  /** Ranges that ended longer ago than this are not read again. */
  horizonMs: number
  /** Minimum time between two readings of a range. */
  quietMs: number
  /** Sessions that re-reads may still bill in this period. */
  budgetSessions: number
  maxPage: number
  /** True if rows have appeared late: any range may then hide one, even a range that skipped nothing. */
  late: boolean
}

/** Older observations are no evidence of the vendor's current behaviour. */
export const EVIDENCE_MS = 28 * DAY

/** Minimum number of hidden conversations per billed session. A page of 100 with five skipped costs some eighty sessions per find. */
const MIN_FINDS_PER_SESSION = 0.1

interface Reread {
  progress: WindowProgress
  estimate: Estimate
}

const skippedIn = (range: ReadRange): number => Math.max(0, range.scanned - range.returned)

/** Returns the skipped conversations without events. The others are exported once a person writes in them. */
const hiddenIn = (range: ReadRange): number => Math.max(0, skippedIn(range) - range.knownFromEvents)

const endedMs = ({ toSec }: ReadRange): number => (toSec + 1) * 1_000

/** Returns when a range is due. Each reading doubles the interval until the next one. */
const dueMs = (range: ReadRange, { quietMs }: Pick<RereadOptions, 'quietMs'>): number =>
  range.readAtMs + Math.max(quietMs, range.readAtMs - endedMs(range))

const isDue = (range: ReadRange, options: RereadOptions): boolean =>
  range.shifted || (endedMs(range) > options.nowMs - options.horizonMs && options.nowMs >= dueMs(range, options))

const worthOf = (range: ReadRange): number =>
  range.shifted || range.sessions === 0 ? Number.POSITIVE_INFINITY : hiddenIn(range) / range.sessions

/** True for enough finds per session, and for ranges that hide nothing, which are listed only as a sample or because of late rows. */
const isWorth = (range: ReadRange, { late }: Pick<RereadOptions, 'late'>): boolean =>
  late || hiddenIn(range) === 0 || worthOf(range) >= MIN_FINDS_PER_SESSION

/** Ranges that bill nothing come first, then those with the most finds per session; among equals the newest. */
function byWorth(a: ReadRange, b: ReadRange): number {
  const [x, y] = [worthOf(a), worthOf(b)]
  return x === y ? b.toSec - a.toSec : y > x ? 1 : -1
}

function affordable(options: RereadOptions): ReadRange[] {
  let left = options.budgetSessions
  return options.ranges
    .filter(range => isDue(range, options) && isWorth(range, options))
    .sort(byWorth)
    .filter(range => {
      // The conversation at the range's beginning belongs to the previous page, and is also exported again.
      const price = range.sessions + 1
      if (price > left) return false
      left -= price
      return true
    })
}

/** Merges adjacent and overlapping ranges of one agent, given oldest first, because each window costs at least one request. */
function merged(ranges: readonly ReadRange[]): ReadRange[] {
  const whole: ReadRange[] = []
  for (const range of ranges) {
    const last = whole.at(-1)
    if (last === undefined || (range.fromSec ?? 0) > last.toSec + 1) {
      whole.push(range)
      continue
    }
    whole[whole.length - 1] = {
      ...last,
      toSec: Math.max(last.toSec, range.toSec),
      scanned: last.scanned + range.scanned,
      returned: last.returned + range.returned,
      knownFromEvents: last.knownFromEvents + range.knownFromEvents,
      sessions: last.sessions + range.sessions,
    }
  }
  return whole
}

function reread(range: ReadRange, { nowMs, maxPage }: RereadOptions): Reread {
  const { agentId, fromSec, toSec, scanned, returned, sessions } = range
  const skipped = skippedIn(range)
  const requests = Math.max(1, Math.ceil(scanned / maxPage))
  const window = { agentId, kind: 'reread' as const, fromSec, toSec, openedAtMs: nowMs }
  return {
    progress: newProgress(openWindow({ ...window, ...(!range.shifted && { skipped }) })),
    estimate: {
      conversations: { low: returned, high: returned + skipped },
      sessions: { low: sessions, high: sessions + skipped },
      requests: { low: requests, high: requests },
    },
  }
}

/** Returns the ranges that are read again within the horizon, ignoring the budget: number, sessions, and first due time, ms. */
export function rereadsAhead(options: Pick<RereadOptions, 'ranges' | 'nowMs' | 'horizonMs' | 'quietMs' | 'late'>) {
  const ahead = options.ranges
    .map(range => ({ ...range, dueMs: Math.max(options.nowMs, dueMs(range, options)) }))
    .filter(range => isWorth(range, options) && range.dueMs < endedMs(range) + options.horizonMs)
  return {
    count: ahead.length,
    sessions: ahead.reduce((sum, range) => sum + range.sessions + skippedIn(range), 0),
    firstMs: Math.min(...ahead.map(range => range.dueMs)),
  }
}

/** Returns the ranges to read again now, as priced windows. */
export function planRereads(options: RereadOptions): Reread[] {
  const alike = new Map<string, ReadRange[]>()
  for (const range of affordable(options)) {
    const key = JSON.stringify([range.agentId, range.shifted])
    alike.set(key, [...(alike.get(key) ?? []), range])
  }
  return [...alike.values()].flatMap(ranges =>
    merged(ranges.sort((a, b) => (a.fromSec ?? 0) - (b.fromSec ?? 0) || a.toSec - b.toSec)).map(range =>
      reread(range, options),
    ),
  )
}
