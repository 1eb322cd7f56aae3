// Estimates of what windows cost. The API offers no free count, so unread ranges are priced by what the agent's read ranges cost, if any.

import { parseCount } from '../quota/reported-usage.ts'
import { DAY } from '../time.ts'
import type { WindowProgress } from './windows.ts'

export interface Range {
  low: number
  high: number
}

/** `1,200 to 1,900`, or one number where both ends are the same. */
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
  /** The fewest and the most conversations on any observed day. */
  perDay: Range
  /** Mean number of new conversations a day. */
  newPerDay: number
  sessionsPerConversation: number
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
 * Sessions in a page's records: the assumed bill where the answer reports none. It may be too high: the vendor bills past sessions with
 * human turns (section 4.12, rule 2); here, sessions without human turns are counted, too.
 */
export const sessionsShown = (records: readonly unknown[]): number =>
  records.reduce<number>((sum, record) => sum + sessionsOf(record), 0)

/** Prices a range of `seconds`; null where nothing was read yet, or the range has no lower bound. */
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
  /** Hours until the last request may be made. */
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

/** The running period as far as it is known: the vendor does not report when periods begin. */
export interface PeriodAge {
  /** Time since the period's first report; null: not known. */
  ageMs: number | null
  /** Length of earlier periods; null: none was observed. */
  lengthMs: number | null
}

/** Assumed length of a period where none was observed from beginning to end. */
export const PERIOD_DAYS = 31

/** Remaining days of the period, at least one. */
const daysLeft = ({ ageMs, lengthMs }: PeriodAge): number =>
  Math.max(1, ((lengthMs ?? PERIOD_DAYS * DAY) - (ageMs ?? 0)) / DAY)

/**
 * How many sessions new conversations use per day: those of agents whose last weeks are in the warehouse (`knownPerDay`), and those of
 * agents whose history this run reads for the first time, estimated from the pages read so far (`seenPerDay`).
 */
export interface Outlook {
  knownPerDay: number
  /** Agents without any data when the run was planned. */
  unknownAgents: number
  /** End of the planned range, in seconds: history windows that end there show the present rate. */
  toSec: number
  /** Unknown agents whose history this run has begun to read, and the rate that it shows. */
  seenAgents: number
  seenPerDay: number
  /** Number of conversations from which `seenPerDay` is estimated. */
  seenConversations: number
  /** How long a period lasts, ms; null: 31 days are assumed. */
  periodLengthMs: number | null
}

export const NO_OUTLOOK: Outlook = {
  knownPerDay: 0,
  unknownAgents: 0,
  toSec: 0,
  seenAgents: 0,
  seenPerDay: 0,
  seenConversations: 0,
  periodLengthMs: null,
}

/** Share of the sessions left that history may not use as long as the history of some, or of all, unknown agents has not been begun. */
const LEARNING_SHARE = { someUnknown: 0.5, allUnknown: 0.95 }
/** Sessions that history may use in any case, so that the rate is learned even with a small quota. */
const LEARNING_SESSIONS = 40

/** Adds two standard deviations, because few conversations give a poor estimate of a rate. */
const withMargin = (perDay: number, conversations: number): number =>
  conversations === 0 ? 0 : perDay * (1 + 2 / Math.sqrt(conversations))

/** Sessions per day that new conversations of agents with a known density use. */
export function knownPerDay(densities: readonly Density[]): number {
  const conversations = densities.reduce((sum, { newPerDay }) => sum + newPerDay * DAYS_OF_DENSITY, 0)
  const perDay = densities.reduce((sum, density) => sum + density.newPerDay * density.sessionsPerConversation, 0)
  return withMargin(perDay, conversations)
}

/** Minimum number of days from which a density is calculated. */
const DAYS_OF_DENSITY = 7

/** Sessions that new conversations use until the period ends. */
export function projectedSessions(outlook: Outlook, ageMs: number | null): number {
  const { unknownAgents, seenAgents, seenPerDay, seenConversations, periodLengthMs } = outlook
  // Agents whose history has not been begun are assumed to have the mean rate of the others.
  const like = Math.max(1, unknownAgents / Math.max(1, seenAgents))
  const perDay = outlook.knownPerDay + withMargin(seenPerDay, seenConversations) * (unknownAgents > 0 ? like : 0)
  return Math.ceil(perDay * daysLeft({ ageMs, lengthMs: periodLengthMs }))
}

/** Sessions reserved for new conversations: as projected, but at least a share of the included ones that shrinks as the period passes. */
export function headReserve(options: {
  outlook: Outlook
  ageMs: number | null
  includedSessions: number
  /** Included sessions that are left. */
  leftSessions: number
  floorShare: number
}): number {
  const { outlook, ageMs, includedSessions, leftSessions, floorShare } = options
  const { unknownAgents, seenAgents, periodLengthMs: lengthMs } = outlook
  const share = Math.min(1, daysLeft({ ageMs, lengthMs }) / daysLeft({ ageMs: 0, lengthMs }))
  const kept =
    seenAgents >= unknownAgents ? 0 : seenAgents === 0 ? LEARNING_SHARE.allUnknown : LEARNING_SHARE.someUnknown
  return Math.ceil(
    Math.min(
      includedSessions,
      Math.max(
        projectedSessions(outlook, ageMs),
        includedSessions * floorShare * share,
        Math.min(leftSessions * kept, leftSessions - LEARNING_SESSIONS),
      ),
    ),
  )
}

/** Sessions per day in a history window so far, averaged over at least one day, so that a burst does not count as a rate. */
export function perDayOf({ window, lastTsMs, pages, billed }: WindowProgress): number {
  if (pages === 0) return 0
  return billed / Math.max(1, (window.toSec * 1_000 - (lastTsMs ?? window.toSec * 1_000)) / DAY)
}

/** Only history of this age or younger shows the present rate. */
const RECENT_HISTORY_MS = 28 * DAY

/** Updates the outlook with the pages read in a window of recent history. */
export function updateOutlook(outlook: Outlook, before: WindowProgress, after: WindowProgress): Outlook {
  const { kind, toSec } = after.window
  if (outlook.unknownAgents === 0 || (kind !== 'tail' && kind !== 'full')) return outlook
  const knownMs = before.lastTsMs === null ? 0 : toSec * 1_000 - before.lastTsMs
  if ((outlook.toSec - toSec) * 1_000 > RECENT_HISTORY_MS || knownMs > RECENT_HISTORY_MS) return outlook
  return {
    ...outlook,
    seenAgents: outlook.seenAgents + (before.pages === 0 && after.pages > 0 ? 1 : 0),
    seenPerDay: Math.max(0, outlook.seenPerDay + perDayOf(after) - perDayOf(before)),
    seenConversations: outlook.seenConversations + after.returned - before.returned,
  }
}
