// Estimates of what windows cost. The API has no free count: unread ranges are priced by what was read before, or as unknown.

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
  /** Fewest and most conversations on an observed day. */
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

/** A record that counts more sessions without listing them counts something else. */
const MAX_SESSIONS_PER_RECORD = 1_000

function sessionsOf(record: unknown): number {
  const { sessions, sessionsNum } = (record ?? {}) as { sessions?: unknown; sessionsNum?: unknown }
  if (Array.isArray(sessions) && sessions.length > 0) return sessions.length
  const counted = parseCount(sessionsNum) ?? 1
  return counted > MAX_SESSIONS_PER_RECORD ? 1 : Math.max(1, counted)
}

/**
 * Sessions in a page's records: the assumed bill where the answer reports none (section 4.12, rule 2: each past session with human
 * turns). Sessions without human turns are counted too.
 */
export const sessionsShown = (records: readonly unknown[]): number =>
  records.reduce<number>((sum, record) => sum + sessionsOf(record), 0)

/** Prices a range of `seconds`; null where nothing was read yet, or the range has no beginning. */
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
  /** Since its first report. */
  ageMs: number | null
  /** Length of earlier periods. */
  lengthMs: number | null
}

/** Assumed length of a period where none was observed from beginning to end. */
export const PERIOD_DAYS = 31

/** Remaining days of the period, at least one. */
const daysLeft = ({ ageMs, lengthMs }: PeriodAge): number =>
  Math.max(1, ((lengthMs ?? PERIOD_DAYS * DAY) - (ageMs ?? 0)) / DAY)

/**
 * Sessions that new conversations use a day: of agents whose last weeks are in the warehouse, and of agents whose history this run reads,
 * estimated by the pages read so far.
 */
export interface Outlook {
  knownPerDay: number
  /** Agents without any data when the run was planned. */
  unknownAgents: number
  /** End of the planned range, in seconds: history windows that end there show the present rate. */
  toSec: number
  /** Unknown agents whose history has been started since, and the rate that it shows. */
  seenAgents: number
  seenPerDay: number
  /** Conversations behind that rate. */
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

/** Share of the sessions left that history may not use while some, or all, unknown agents have not been started. */
const LEARNING_SHARE = { someUnknown: 0.5, allUnknown: 0.95 }
/** Sessions that history may use in any case, so that a small quota, too, learns the rate. */
const LEARNING_SESSIONS = 40

/** Adds two standard deviations: few conversations estimate a rate badly. */
const withMargin = (perDay: number, conversations: number): number =>
  conversations === 0 ? 0 : perDay * (1 + 2 / Math.sqrt(conversations))

/** Sessions a day of agents with a known density. */
export function knownPerDay(densities: readonly Density[]): number {
  const conversations = densities.reduce((sum, { newPerDay }) => sum + newPerDay * DAYS_OF_DENSITY, 0)
  const perDay = densities.reduce((sum, density) => sum + density.newPerDay * density.sessionsPerConversation, 0)
  return withMargin(perDay, conversations)
}

/** A density covers at least a week. */
const DAYS_OF_DENSITY = 7

/** Sessions that new conversations use until the period ends. */
export function projectedSessions(outlook: Outlook, ageMs: number | null): number {
  const { unknownAgents, seenAgents, seenPerDay, seenConversations, periodLengthMs } = outlook
  // Agents that have not been started are assumed to be like the others.
  const like = Math.max(1, unknownAgents / Math.max(1, seenAgents))
  const perDay = outlook.knownPerDay + withMargin(seenPerDay, seenConversations) * (unknownAgents > 0 ? like : 0)
  return Math.ceil(perDay * daysLeft({ ageMs, lengthMs: periodLengthMs }))
}

/** Sessions reserved for new conversations: the projection, and at least a share of the included sessions that shrinks with the period. */
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

/** Sessions a day in a history window so far. Over at least a day, so that a burst does not count as a rate. */
export function perDayOf({ window, lastTsMs, pages, billed }: WindowProgress): number {
  if (pages === 0) return 0
  return billed / Math.max(1, (window.toSec * 1_000 - (lastTsMs ?? window.toSec * 1_000)) / DAY)
}

/** Only history this recent shows the present rate. */
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
