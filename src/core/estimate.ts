// What a window will cost, as far as anybody can say. There is no free count: what was never seen is priced as a range
// from what was, or as unknown.
import { DAY, HOUR } from './time.ts'
import { soundCount } from './told.ts'

export interface Range {
  low: number
  high: number
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
const MOST_SESSIONS = 1_000

function sessionsOf(record: unknown): number {
  const { sessions, sessionsNum } = (record ?? {}) as { sessions?: unknown; sessionsNum?: unknown }
  if (Array.isArray(sessions) && sessions.length > 0) return sessions.length
  const counted = soundCount(sessionsNum) ?? 1
  return counted > MOST_SESSIONS ? 1 : Math.max(1, counted)
}

/**
 * Sessions that a page's records show: what it is taken to have billed where the answer does not tell (section 4.12, rule 2: each past
 * session with human turns). Those without any are counted too.
 */
export const sessionsShown = (records: readonly unknown[]): number =>
  records.reduce<number>((sum, record) => sum + sessionsOf(record), 0)

/** Prices a stretch of `seconds`; null where nothing was seen yet, or the stretch has no beginning. */
export function estimateStretch(density: Density | null, seconds: number | null, page: number): Estimate | null {
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

/** Sessions that new conversations would bring if all days were like the busiest ones, until the period is over. */
export function projectedSessions(densities: readonly Density[], { ageMs, lengthMs }: PeriodAge): number {
  const days = Math.max(1, ((lengthMs ?? PERIOD_DAYS * DAY) - (ageMs ?? 0)) / DAY)
  const perDay = densities.reduce((total, density) => total + density.perDay.high * density.sessionsPerConversation, 0)
  return Math.ceil(perDay * days)
}

/** Sessions of the period to leave for new conversations: what is projected, at most half of what is included. */
export function headReserve(options: { projected: number; includedSessions: number; floorShare: number }): number {
  const { projected, includedSessions, floorShare } = options
  return Math.ceil(Math.min(includedSessions / 2, Math.max(projected, includedSessions * floorShare)))
}

/** Hours as text for people: `now`, `about 3 h`, `2 to 5 h`. */
export function hoursText(range: Range): string {
  if (range.high === 0) return 'now'
  const text = range.low === range.high ? `about ${range.high} h` : `${range.low} to ${range.high} h`
  return range.high * HOUR > 14 * DAY ? `${text} (${Math.ceil(range.high / 24)} days)` : text
}
