// What a window will cost, as far as anybody can say. There is no free count: what was never seen is priced as a range
// from what was, or as unknown.

import { parseCount } from './reported-usage.ts'
import { DAY, HOUR } from './time.ts'
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

/** What an agent's conversations were like so far. */
export interface Density {
  /** Fewest and most conversations on one of the observed days. */
  perDay: Range
  /** New conversations a day, on the mean. */
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

/** A record that counts more sessions, and shows none of them, counts something else. */
const MAX_SESSIONS_PER_RECORD = 1_000

function sessionsOf(record: unknown): number {
  const { sessions, sessionsNum } = (record ?? {}) as { sessions?: unknown; sessionsNum?: unknown }
  if (Array.isArray(sessions) && sessions.length > 0) return sessions.length
  const counted = parseCount(sessionsNum) ?? 1
  return counted > MAX_SESSIONS_PER_RECORD ? 1 : Math.max(1, counted)
}

/**
 * Sessions that a page's records show: what it is taken to have billed where the answer does not tell (section 4.12, rule 2: each past
 * session with human turns). Those without any are counted too.
 */
export const sessionsShown = (records: readonly unknown[]): number =>
  records.reduce<number>((sum, record) => sum + sessionsOf(record), 0)

/** Prices a stretch of `seconds`; null where nothing was seen yet, or the stretch has no beginning. */
export function estimateRange(density: Density | null, seconds: number | null, page: number): Estimate | null {
  if (density === null || seconds === null) return null
  const conversations = scaled(density.perDay, (seconds * 1_000) / DAY)
  return {
    conversations,
    sessions: scaled(conversations, density.sessionsPerConversation),
    requests: requestsFor(conversations, page),
  }
}

/** Prices conversations that are asked for by id: at most so many are there. */
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
  /** Billing periods that it takes, this one included. */
  periods: Range
}

/** Lays an estimate out over the coming hours and periods. */
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

/** The running period, as far as it is known: the vendor does not tell when one turns. */
export interface PeriodAge {
  /** Since it was first told of. */
  ageMs: number | null
  /** Of those before it. */
  lengthMs: number | null
}

/** What a period is taken to be where none was seen from beginning to end. */
export const PERIOD_DAYS = 31

/** Days of the period that are still to come; one where it is older than it should be. */
export const daysLeft = ({ ageMs, lengthMs }: PeriodAge): number =>
  Math.max(1, ((lengthMs ?? PERIOD_DAYS * DAY) - (ageMs ?? 0)) / DAY)

/**
 * Sessions a day that new conversations take, as far as is known: of agents whose last weeks are in the warehouse, and of those
 * whose history begins to be read, by what has been read of it.
 */
export interface Outlook {
  knownPerDay: number
  /** Agents of which nothing was known when the run was planned. */
  unknownAgents: number
  /** Where their history begins, in seconds: windows that begin there tell of now. */
  toSec: number
  /** Agents whose history has been begun since, and what it tells. */
  seenAgents: number
  seenPerDay: number
  /** Conversations that it is told by. */
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

/** Of what is left, kept from history while nothing is known of some agents; the second where nothing is known of any. */
const LEARNING_SHARE = { someUnknown: 0.5, allUnknown: 0.95 }
/** So many are not kept in any case: a small quota, too, has to learn something. */
const LEARNING_SESSIONS = 40

/** A few conversations tell a rate badly: two standard deviations are added. */
const withMargin = (perDay: number, conversations: number): number =>
  conversations === 0 ? 0 : perDay * (1 + 2 / Math.sqrt(conversations))

/** Sessions a day of the densities that are known. */
export function knownPerDay(densities: readonly Density[]): number {
  const conversations = densities.reduce((sum, { newPerDay }) => sum + newPerDay * DAYS_OF_DENSITY, 0)
  const perDay = densities.reduce((sum, density) => sum + density.newPerDay * density.sessionsPerConversation, 0)
  return withMargin(perDay, conversations)
}

/** A density is at least of the last week. */
const DAYS_OF_DENSITY = 7

/** Sessions that new conversations take until the period is over. */
export function projectedSessions(outlook: Outlook, ageMs: number | null): number {
  const { unknownAgents, seenAgents, seenPerDay, seenConversations, periodLengthMs } = outlook
  // Agents that have not been begun are taken for what the others are.
  const like = Math.max(1, unknownAgents / Math.max(1, seenAgents))
  const perDay = outlook.knownPerDay + withMargin(seenPerDay, seenConversations) * (unknownAgents > 0 ? like : 0)
  return Math.ceil(perDay * daysLeft({ ageMs, lengthMs: periodLengthMs }))
}

/** Sessions to leave for new conversations: what is projected, and at least a share of what is included, less as the period goes by. */
export function headReserve(options: {
  outlook: Outlook
  ageMs: number | null
  includedSessions: number
  /** Sessions that are left of the included ones. */
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

/** Sessions a day that a window tells of which reads history from now back. A day at least: bursts tell of no rate. */
export function perDayOf({ window, lastTsMs, pages, billed }: WindowProgress): number {
  if (pages === 0) return 0
  return billed / Math.max(1, (window.toSec * 1_000 - (lastTsMs ?? window.toSec * 1_000)) / DAY)
}

/** History of so long tells of the rate at which new conversations come. */
const RECENT_HISTORY_MS = 28 * DAY

/** Estimates anew what new conversations take, by what was read of a window of history that tells of now. */
export function updateOutlook(outlook: Outlook, before: WindowProgress, after: WindowProgress): Outlook {
  const { kind, toSec } = after.window
  if (outlook.unknownAgents === 0 || (kind !== 'tail' && kind !== 'full')) return outlook
  const knownMs = before.lastTsMs === null ? 0 : toSec * 1_000 - before.lastTsMs
  // What is older tells of another time.
  if ((outlook.toSec - toSec) * 1_000 > RECENT_HISTORY_MS || knownMs > RECENT_HISTORY_MS) return outlook
  return {
    ...outlook,
    seenAgents: outlook.seenAgents + (before.pages === 0 && after.pages > 0 ? 1 : 0),
    seenPerDay: Math.max(0, outlook.seenPerDay + perDayOf(after) - perDayOf(before)),
    seenConversations: outlook.seenConversations + after.returned - before.returned,
  }
}

/** Hours as text for people: `now`, `about 3 h`, `2 to 5 h`. */
export function hoursText(range: Range): string {
  if (range.high === 0) return 'now'
  const text = range.low === range.high ? `about ${range.high} h` : `${range.low} to ${range.high} h`
  return range.high * HOUR > 14 * DAY ? `${text} (${Math.ceil(range.high / 24)} days)` : text
}
