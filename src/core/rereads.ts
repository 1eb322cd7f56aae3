// Stretches that may hide something, and which of them to read again.
//
// The export skips conversations in which no person has written yet, and tells only how many it looked at; what enters the
// mirror late appears behind a head that has passed. Either is found by reading its stretch again, and buying again what was
// bought there. So: only while something may still come (`horizon`), at growing intervals, what hides most for its
// price first, not at all where it hides too little for it, and within a budget.
import type { Estimate } from './estimate.ts'
import { newProgress, openWindow, type WindowProgress } from './windows.ts'

/** A page's stretch, by its newest reading. */
export interface ReadRange {
  agentId: string
  /** Null: from the beginning of time. */
  fromSec: number | null
  toSec: number
  readAtMs: number
  scanned: number
  returned: number
  /** Of those that it skipped, as many are held all the same: events tell of them, too. */
  knownFromEvents: number
  /** What it billed. */
  sessions: number
}

export interface RereadOptions {
  ranges: readonly ReadRange[]
  nowMs: number
  /** Older stretches are left alone. */
  horizonMs: number
  /** Shortest time between two readings of a stretch. */
  quietMs: number
  /** Sessions that re-reads may still bill in this period. */
  budgetSessions: number
  maxPage: number
  /** Late rows have been seen: any stretch may hide one, whatever it skipped. */
  late: boolean
}

/** Conversations hidden for each session to pay, at least. A page of 100 that skipped five would cost some eighty sessions a find. */
const MIN_FINDS_PER_SESSION = 0.1

export interface Reread {
  progress: WindowProgress
  estimate: Estimate
}

const skippedIn = (range: ReadRange): number => Math.max(0, range.scanned - range.returned)

/** A skipped conversation that an event has told of is not hidden: the event that tells of a person in it has it bought. */
const hiddenIn = (range: ReadRange): number => Math.max(0, skippedIn(range) - range.knownFromEvents)

/** Due when it has been left alone for a while, and each time for twice as long as before. */
export function isDue(range: ReadRange, { nowMs, horizonMs, quietMs }: RereadOptions): boolean {
  const endedMs = (range.toSec + 1) * 1_000
  const waitMs = Math.max(quietMs, range.readAtMs - endedMs)
  return endedMs > nowMs - horizonMs && nowMs - range.readAtMs >= waitMs
}

const worthOf = (range: ReadRange): number =>
  range.sessions === 0 ? Number.POSITIVE_INFINITY : hiddenIn(range) / range.sessions

/** What hides nothing is only given where it is wanted: for a sample, or because of late rows. */
const isWorth = (range: ReadRange, { late }: RereadOptions): boolean =>
  late || hiddenIn(range) === 0 || worthOf(range) >= MIN_FINDS_PER_SESSION

/** What costs nothing first, then what hides most for its price, then the newest. */
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

/** Neighbours become one: a window costs a request at least. Stretches of one agent, oldest first. */
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

/** The windows to read again now, and their price. */
export function planRereads(options: RereadOptions): Reread[] {
  const byAgent = new Map<string, ReadRange[]>()
  for (const range of affordable(options)) byAgent.set(range.agentId, [...(byAgent.get(range.agentId) ?? []), range])
  return [...byAgent.values()].flatMap(ranges =>
    merged(ranges.sort((a, b) => (a.fromSec ?? 0) - (b.fromSec ?? 0) || a.toSec - b.toSec)).map(range =>
      reread(range, options),
    ),
  )
}
