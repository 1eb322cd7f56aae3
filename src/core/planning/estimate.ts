// Estimates the cost of windows. The API has no free count, so unread ranges are priced by the agent's read ranges, if any.

import { parseCount } from '../quota/reported-usage.ts'
import { DAY } from '../time.ts'
import type { WindowProgress } from './windows.ts'

export interface Range {
  low: number
  high: number
}

/** Returns `1,200 to 1,900`, or one number if both ends are the same. */
export function rangeText({ low, high }: Range): string {
  const [from, to] = [low, high].map(value => Math.round(value).toLocaleString('en-US'))
  return low === high ? from! : `${from} to ${to}`
}

export interface Estimate {
  conversations: Range
  sessions: Range
  requests: Range
}

/** Statistics of an agent's conversations so far. */
export interface Density {
  /** Minimum and maximum number of conversations on any observed day. */
  perDay: Range
  /** Mean number of new conversations per day. */
  newPerDay: number
  sessionsPerConversation: number
  /** Maximum number of sessions in one conversation. */
  mostSessions: number
}

const scaled = (range: Range, factor: number): Range => ({
  low: Math.floor(range.low * factor),
  high: Math.ceil(range.high * factor),
})

const requestsFor = (conversations: Range, page: number): Range => ({
  low: Math.max(1, Math.ceil(conversations.low / page)),
  high: Math.max(1, Math.ceil(conversations.high / page)),
})

/** A `sessionsNum` above this, in a record that lists no sessions, must count something else. */
const MAX_SESSIONS_PER_RECORD = 1_000

function sessionsOf(record: unknown): number {
  const { sessions, sessionsNum } = (record ?? {}) as { sessions?: unknown; sessionsNum?: unknown }
  if (Array.isArray(sessions) && sessions.length > 0) return sessions.length
  const counted = parseCount(sessionsNum) ?? 1
  return counted > MAX_SESSIONS_PER_RECORD ? 1 : Math.max(1, counted)
}

/**
 * Returns the sessions in a page's records: the assumed bill if the answer reports none. It may be too high: the vendor
 * bills past sessions with human turns (section 4.12, rule 2), but sessions without human turns are counted here, too.
 */
export const sessionsShown = (records: readonly unknown[]): number =>
  records.reduce<number>((sum, record) => sum + sessionsOf(record), 0)

/** Returns a page's billed sessions: at least one per record (section 4.12, rules 1 and 2), no matter what the answer reports. */
export const billOf = (records: readonly unknown[], reported: number | null): number =>
  Math.max(records.length, reported ?? sessionsShown(records))

/** Returns the maximum number of sessions in one of these records. */
export const mostSessionsShown = (records: readonly unknown[]): number =>
  records.reduce<number>((most, record) => Math.max(most, sessionsOf(record)), 0)

/** Prices a range of `seconds`; null if nothing was read yet, or the range has no lower bound. */
export function estimateRange(density: Density | null, seconds: number | null, page: number): Estimate | null {
  if (density === null || seconds === null) return null
  const conversations = scaled(density.perDay, (seconds * 1_000) / DAY)
  return {
    conversations,
    sessions: scaled(conversations, density.sessionsPerConversation),
    requests: requestsFor(conversations, page),
  }
}

/** Prices conversations by id; some of them may not exist. */
export function estimateIds(density: Density | null, ids: number, perRequest: number): Estimate {
  const requests = Math.ceil(ids / perRequest)
  const high = Math.ceil(ids * Math.max(1, density?.sessionsPerConversation ?? 1.25))
  return {
    conversations: { low: 0, high: ids },
    sessions: { low: 0, high },
    requests: { low: requests, high: requests },
  }
}

const sum = (ranges: Range[]): Range => ({
  low: ranges.reduce((total, range) => total + range.low, 0),
  high: ranges.reduce((total, range) => total + range.high, 0),
})

export const totalOf = (estimates: readonly Estimate[]): Estimate => ({
  conversations: sum(estimates.map(estimate => estimate.conversations)),
  sessions: sum(estimates.map(estimate => estimate.sessions)),
  requests: sum(estimates.map(estimate => estimate.requests)),
})

export interface Layout {
  /** Hours until the last request can be made. */
  hours: Range
  /** Billing periods needed, including this one. */
  periods: Range
}

/** Distributes an estimate over the coming hours and periods. */
export function layOut(
  estimate: Estimate,
  budget: { requestsPerHour: number; requestsLeft: number; sessionsLeft: number; sessionsPerPeriod: number },
): Layout {
  const hours = (requests: number) =>
    requests <= budget.requestsLeft ? 0 : Math.ceil((requests - budget.requestsLeft) / budget.requestsPerHour)
  const periods = (sessions: number) =>
    sessions <= budget.sessionsLeft
      ? 1
      : 1 + Math.ceil((sessions - budget.sessionsLeft) / Math.max(1, budget.sessionsPerPeriod))
  return {
    hours: { low: hours(estimate.requests.low), high: hours(estimate.requests.high) },
    periods: { low: periods(estimate.sessions.low), high: periods(estimate.sessions.high) },
  }
}

/** Assumed length of a billing period, which the vendor does not report. */
export const PERIOD_DAYS = 31

/** Returns the remaining days of the period, at least one. `ageMs`: time since its first report; null if unknown. */
const daysLeft = (ageMs: number | null): number => Math.max(1, PERIOD_DAYS - (ageMs ?? 0) / DAY)

/** Expected number of sessions that new conversations use per day. */
export interface Outlook {
  /** Sessions per day of agents whose last weeks were read before the run; agents without conversations in these weeks need none. */
  knownPerDay: number
  /** Agents without read conversations when the run was planned, with the rate that the run has seen; null if none. */
  learned: readonly { agentId: string; perDay: number | null; conversations: number }[]
}

export const NO_OUTLOOK: Outlook = { knownPerDay: 0, learned: [] }

/** Share reserved for new conversations if none is configured, even if fewer are expected: agents may become busier. */
const USUAL_SHARE = 0.1

/** Adds two standard deviations, because few conversations give a poor estimate of a rate. */
const withMargin = (perDay: number, conversations: number): number =>
  conversations === 0 ? 0 : perDay * (1 + 2 / Math.sqrt(conversations))

/** Returns the sessions per day that new conversations of agents with a known density use. */
export function knownPerDay(densities: readonly Density[]): number {
  const conversations = densities.reduce((sum, { newPerDay }) => sum + newPerDay * DAYS_OF_DENSITY, 0)
  const perDay = densities.reduce((sum, density) => sum + density.newPerDay * density.sessionsPerConversation, 0)
  return withMargin(perDay, conversations)
}

/** Minimum number of days for calculating a density. */
const DAYS_OF_DENSITY = 7

/**
 * Returns the sessions that new conversations will use until the period ends. `begun`: agents whose first page is being
 * read; they are assumed to be like those that this run has read.
 */
export function projectedSessions(outlook: Outlook, ageMs: number | null, begun = 0): number {
  const read = outlook.learned.filter(({ perDay }) => perDay !== null)
  const conversations = read.reduce((sum, agent) => sum + agent.conversations, 0)
  const perDay = withMargin(
    read.reduce((sum, agent) => sum + agent.perDay!, 0),
    conversations,
  )
  const all = outlook.knownPerDay + perDay * (1 + begun / Math.max(1, read.length))
  return Math.ceil(all * daysLeft(ageMs))
}

/**
 * Returns the sessions reserved for new conversations: the configured share of the included ones, which shrinks as the
 * period passes. Without a configured share (null): as projected, and at least a tenth.
 */
export function headReserve(options: {
  outlook: Outlook
  begun: number
  ageMs: number | null
  includedSessions: number
  share: number | null
}): number {
  const { outlook, begun, ageMs, includedSessions, share } = options
  const rest = Math.min(1, daysLeft(ageMs) / PERIOD_DAYS)
  const configured = Math.ceil(includedSessions * (share ?? USUAL_SHARE) * rest)
  if (share !== null) return configured
  return Math.min(includedSessions, Math.max(configured, projectedSessions(outlook, ageMs, begun)))
}

/**
 * Returns the sessions per day in a history window so far, averaged over at least one day, so that a burst does not count as a
 * rate. The oldest conversation only bounds the time and does not count: the single conversation of a quiet agent is no rate.
 */
export function perDayOf({ window, lastTsMs, returned, billed }: WindowProgress): number {
  if (returned < 2) return 0
  const days = (window.toSec * 1_000 - (lastTsMs ?? window.toSec * 1_000)) / DAY
  return (billed * (1 - 1 / returned)) / Math.max(1, days)
}

/** Maximum age of history that shows the current rate. */
const RECENT_HISTORY_MS = 28 * DAY

/** Updates the outlook with the pages read in a window of a previously unknown agent. */
export function updateOutlook(outlook: Outlook, read: WindowProgress): Outlook {
  const { agentId, kind, toSec } = read.window
  const index = outlook.learned.findIndex(agent => agent.agentId === agentId)
  const isOld = read.lastTsMs !== null && toSec * 1_000 - read.lastTsMs > RECENT_HISTORY_MS
  if (index < 0 || read.pages === 0 || (kind !== 'tail' && kind !== 'full')) return outlook
  if (isOld && outlook.learned[index]!.perDay !== null) return outlook
  const rate = { agentId, perDay: perDayOf(read), conversations: read.returned }
  return { ...outlook, learned: outlook.learned.with(index, rate) }
}
