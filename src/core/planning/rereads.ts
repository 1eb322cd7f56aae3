// Rereads: ranges that may hide conversations are exported again.
//
// The export skips conversations in which no person has written yet, and reports only how many it looked at; conversations that enter the
// mirror late appear behind a head that has passed. Reading the range again finds both, and bills its conversations again. So ranges are
// read again only while conversations may still appear (`horizon`), at growing intervals, best ratio of finds to price first, not at
// all below a minimum ratio, and within a budget.
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
  /** Skipped conversations that are known from events. */
  knownFromEvents: number
  /** Billed sessions. */
  sessions: number
}

export interface RereadOptions {
  ranges: readonly ReadRange[]
  nowMs: number
  /** Older ranges are not read again. */
  horizonMs: number
  /** Least time between two readings of a range. */
  quietMs: number
  /** Sessions that re-reads may still bill in this period. */
  budgetSessions: number
  maxPage: number
  /** Late rows have been seen: any range may hide one, whatever it skipped. */
  late: boolean
}

/** Least number of hidden conversations per session. A page of 100 that skipped five would cost some eighty sessions a find. */
const MIN_FINDS_PER_SESSION = 0.1

interface Reread {
  progress: WindowProgress
  estimate: Estimate
}

const skippedIn = (range: ReadRange): number => Math.max(0, range.scanned - range.returned)

/** A skipped conversation that is known from events is not hidden: an event with a person's message causes its export. */
const hiddenIn = (range: ReadRange): number => Math.max(0, skippedIn(range) - range.knownFromEvents)

/** Due after an interval that doubles with each reading. */
function isDue(range: ReadRange, { nowMs, horizonMs, quietMs }: RereadOptions): boolean {
  const endedMs = (range.toSec + 1) * 1_000
  const waitMs = Math.max(quietMs, range.readAtMs - endedMs)
  return endedMs > nowMs - horizonMs && nowMs - range.readAtMs >= waitMs
}

const worthOf = (range: ReadRange): number =>
  range.sessions === 0 ? Number.POSITIVE_INFINITY : hiddenIn(range) / range.sessions

/** A range that hides nothing is in the list only as a sample, or because of late rows. */
const isWorth = (range: ReadRange, { late }: RereadOptions): boolean =>
  late || hiddenIn(range) === 0 || worthOf(range) >= MIN_FINDS_PER_SESSION

/** Free ranges first, then by finds per session, then newest first. */
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

/** Merges neighbours, because each window costs a request. Ranges of one agent, oldest first. */
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
