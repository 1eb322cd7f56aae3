// Sessions used in a billing period, from two counts: the vendor's reported usage, which may be late, and the bills of
// our own answers, which are certain. Reported usage minus our own count is a lower bound of all other users' usage.
// The sum of this bound and our own count never exceeds the truth, however late the report is.
//
// A late counter also hides the usage of others. Once a report lacks our requests, every report is assumed to lack as
// many requests (or to be as late), until an hour has passed without such evidence.
import { HOUR, MINUTE } from '../time.ts'

/** One of our requests. */
interface OwnRequest {
  sessions: number
  sentAtMs: number
  receivedAtMs: number
}

export interface UsageAccount {
  /** Sessions that our own answers billed since this account began. */
  own: number
  /** Lower bound of all other sessions of the period; null before the first report. */
  others: number | null
  /** Our newest requests, sorted by the time of their answer. */
  recent: readonly OwnRequest[]
  /** The report with the latest request. */
  report: { usedSessions: number; sentAtMs: number } | null
  /** Observed lag of reports, in our requests and in time; null for none. */
  lag: { requests: number; ms: number; seenAtMs: number } | null
}

/** Longest assumed lag. Our own sessions are counted exactly in any case. */
const MAX_LAG_REQUESTS = 10
const MAX_LAG_MS = 10 * MINUTE

const RECENT_KEPT = 60
/** A lag that has not been observed for this long is considered over. */
const LAG_EXPIRES_MS = HOUR

export const newAccount = (): UsageAccount => ({ own: 0, others: null, recent: [], report: null, lag: null })

const sumOf = (requests: readonly OwnRequest[]): number => requests.reduce((sum, { sessions }) => sum + sessions, 0)

const lagAt = ({ lag }: UsageAccount, nowMs: number): UsageAccount['lag'] =>
  lag && nowMs - lag.seenAtMs < LAG_EXPIRES_MS ? lag : null

/** Returns the newest requests that together billed the `missing` sessions, newest first; null if all of them billed fewer. */
function requestsLacking(before: readonly OwnRequest[], missing: number): OwnRequest[] | null {
  const found: OwnRequest[] = []
  for (const request of before.toReversed()) {
    if (sumOf(found) >= missing) break
    found.push(request)
  }
  return sumOf(found) >= missing ? found : null
}

/** Returns the lag after a report that lacks `missing` of our sessions. */
function observedLag(account: UsageAccount, request: OwnRequest, missing: number): UsageAccount['lag'] {
  const { sentAtMs } = request
  const known = lagAt(account, sentAtMs)
  if (missing <= 0) return known
  const before = account.recent.filter(({ receivedAtMs }) => receivedAtMs < sentAtMs)
  const found = requestsLacking([...before, request], missing)
  if (found === null) return known
  const ms = Math.max(0, ...found.filter(one => one !== request).map(({ receivedAtMs }) => sentAtMs - receivedAtMs))
  // Beyond both bounds, it is a mistake of one answer, not a late counter.
  if (found.length > MAX_LAG_REQUESTS && ms > MAX_LAG_MS) return known
  return {
    requests: Math.min(MAX_LAG_REQUESTS, Math.max(known?.requests ?? 0, found.length)),
    ms: Math.min(MAX_LAG_MS, Math.max(known?.ms ?? 0, ms)),
    seenAtMs: sentAtMs,
  }
}

/** Counts one of our requests whose answer reported its bill. */
export function countRequest(account: UsageAccount, request: OwnRequest): UsageAccount {
  const recent = [...account.recent, request].sort((a, b) => a.receivedAtMs - b.receivedAtMs).slice(-RECENT_KEPT)
  return { ...account, own: account.own + request.sessions, recent }
}

/**
 * Applies a report that arrived with the answer to `request`. `unseen`: sessions that our unanswered requests may have
 * billed by then; they must not count as used by others.
 */
export function applyReport(
  account: UsageAccount,
  usedSessions: number,
  request: OwnRequest & { unseen: number },
): UsageAccount {
  const { unseen, ...own } = request
  const next = countRequest(account, own)
  // A request within the same millisecond counts neither as earlier nor as later, because the order is unknown.
  const later = next.recent.filter(one => one !== own && one.receivedAtMs >= own.sentAtMs)
  const missing = account.others === null ? 0 : account.others + next.own - sumOf(later) - usedSessions
  const unsent = next.recent.filter(one => one !== own && one.sentAtMs > own.receivedAtMs)
  const others = usedSessions - (next.own - sumOf(unsent)) - unseen
  return {
    ...next,
    others: Math.max(account.others ?? 0, others),
    report:
      account.report && account.report.sentAtMs > own.sentAtMs
        ? account.report
        : { usedSessions, sentAtMs: own.sentAtMs },
    lag: observedLag(account, own, missing),
  }
}

/** Returns the sessions that are certainly used. */
export const certainSessions = ({ own, others }: UsageAccount): number => own + (others ?? 0)

/** Returns a predicate that is true for requests that a usage report may lack, if its answer was requested at `sentAtMs`. */
function mayLack({ recent }: UsageAccount, lag: NonNullable<UsageAccount['lag']>, sentAtMs: number) {
  const before = recent.filter(one => one.sentAtMs <= sentAtMs)
  const newest = new Set(before.slice(-lag.requests))
  return (one: OwnRequest) => newest.has(one) || one.receivedAtMs > sentAtMs - lag.ms
}

/** Returns the sessions that may be used if the newest report is as late as observed; 0 without a lag. */
export function possibleSessions(account: UsageAccount): number {
  const { report: newest, recent } = account
  const lag = newest && lagAt(account, newest.sentAtMs)
  if (!newest || !lag) return 0
  return newest.usedSessions + sumOf(recent.filter(mayLack(account, lag, newest.sentAtMs)))
}

/** True if a report requested at `sentAtMs` includes all sessions billed until `sinceMs`, given the observed lag. */
export function isComplete(account: UsageAccount, sentAtMs: number, sinceMs: number): boolean {
  if (sentAtMs < sinceMs) return false
  const lag = lagAt(account, sentAtMs)
  if (lag === null) return true
  const since = account.recent.filter(one => one.sentAtMs >= sinceMs && one.sentAtMs <= sentAtMs)
  return since.length > lag.requests && sentAtMs >= sinceMs + lag.ms
}

/** Returns the time, ms, from which a report may include all sessions billed so far. */
export function completeFromMs({ lag, recent }: UsageAccount): number {
  const billed = recent.filter(({ sessions }) => sessions > 0)
  return lag ? (billed.at(-1)?.receivedAtMs ?? 0) + lag.ms : 0
}
