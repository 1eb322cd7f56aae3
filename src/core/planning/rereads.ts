// Rereads: ranges that may hide conversations are exported again.
//
// The export skips conversations in which no person has written yet, and reports only how many it looked at. Conversations that enter the
// mirror late appear in seconds that a head window has already read. Reading a range again finds both, and bills the range's conversations
// again. So a range is read again only while conversations may still appear in it (`horizonMs`), at growing intervals, and if it is expected
// to yield a minimum of finds per session; the best ranges come first, within a budget.
import type { Estimate } from './estimate.ts'
import { newProgress, openWindow, type WindowProgress } from './windows.ts'

/** A page's range, as it was last read. */
export interface ReadRange {
  agentId: string
  /** Null: from the beginning of time. */
  fromSec: number | null
  toSec: number
  readAtMs: number
  scanned: number
  returned: number
  /** Number of skipped conversations that are known from events. */
  knownFromEvents: number
  /** Billed sessions. */
  sessions: number
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
  /** True where rows have appeared late: then any range may hide one, even a range that skipped nothing. */
  late: boolean
}

/** Minimum number of hidden conversations per billed session. A page of 100 that skipped five would cost some eighty sessions per find. */
const MIN_FINDS_PER_SESSION = 0.1

interface Reread {
  progress: WindowProgress
  estimate: Estimate
}

const skippedIn = (range: ReadRange): number => Math.max(0, range.scanned - range.returned)

/** Skipped conversations that are known from events are not hidden: once a person writes in one, the event causes its export. */
const hiddenIn = (range: ReadRange): number => Math.max(0, skippedIn(range) - range.knownFromEvents)

/** True for a range that is due: each reading doubles the interval until the next one. */
function isDue(range: ReadRange, { nowMs, horizonMs, quietMs }: RereadOptions): boolean {
  const endedMs = (range.toSec + 1) * 1_000
  const waitMs = Math.max(quietMs, range.readAtMs - endedMs)
  return endedMs > nowMs - horizonMs && nowMs - range.readAtMs >= waitMs
}

const worthOf = (range: ReadRange): number =>
  range.sessions === 0 ? Number.POSITIVE_INFINITY : hiddenIn(range) / range.sessions

/** True for enough finds per session, and for a range that hides nothing, which is listed only as a sample or because of late rows. */
const isWorth = (range: ReadRange, { late }: RereadOptions): boolean =>
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
      if (range.sessions > left) return false
      left -= range.sessions
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
  return {
    progress: newProgress(openWindow({ agentId, kind: 'reread', fromSec, toSec, openedAtMs: nowMs, skipped })),
    estimate: {
      conversations: { low: returned, high: returned + skipped },
      sessions: { low: sessions, high: sessions + skipped },
      requests: { low: requests, high: requests },
    },
  }
}

/** The ranges to read again now, as priced windows. */
export function planRereads(options: RereadOptions): Reread[] {
  const byAgent = new Map<string, ReadRange[]>()
  for (const range of affordable(options)) byAgent.set(range.agentId, [...(byAgent.get(range.agentId) ?? []), range])
  return [...byAgent.values()].flatMap(ranges =>
    merged(ranges.sort((a, b) => (a.fromSec ?? 0) - (b.fromSec ?? 0) || a.toSec - b.toSec)).map(range =>
      reread(range, options),
    ),
  )
}
