// The rate limit: the number of requests that may still be made this hour. The vendor's hour may be rolling or fixed,
// and its counter shared with other users of the token, late, or reset. So the lower of two counts is used: our own
// rolling one, and the last reported one, carried forward with our own requests since.

/** Requests answered within one slice of time. They count as made at the slice's end, so that none expires too early. */
interface Bucket {
  endMs: number
  count: number
  /** Agent and kind of the window that made the requests; null if unknown. */
  agentId: string | null
  kind: string | null
}

export interface RateLimitState {
  hourMs: number
  requestsPerHour: number
  buckets: readonly Bucket[]
  /** The reported count with the latest request. */
  reported: { remaining: number; sentAtMs: number; receivedAtMs: number } | null
}

const BUCKETS_PER_HOUR = 360

export const newRateLimit = (hourMs: number, requestsPerHour: number): RateLimitState => ({
  hourMs,
  requestsPerHour,
  buckets: [],
  reported: null,
})

/**
 * Counts a request at the time of its answer (or abort). The vendor counted it earlier, so it never leaves our hour before the
 * vendor's. Requests of two hours are kept: each one that leaves the hour after a report raises the reported count by one again.
 */
export function countRequest(
  state: RateLimitState,
  receivedAtMs: number,
  { count = 1, agentId = null, kind = null }: Partial<Omit<Bucket, 'endMs'>> = {},
): RateLimitState {
  const slice = Math.max(1, state.hourMs / BUCKETS_PER_HOUR)
  const endMs = (Math.floor(receivedAtMs / slice) + 1) * slice
  const kept = state.buckets.filter(bucket => bucket.endMs > receivedAtMs - 2 * state.hourMs)
  const known = kept.find(bucket => bucket.endMs === endMs && bucket.agentId === agentId && bucket.kind === kind)
  const others = kept.filter(bucket => bucket !== known)
  return { ...state, buckets: [...others, { endMs, count: (known?.count ?? 0) + count, agentId, kind }] }
}

/** Applies a reported limit. The report with the latest request counts; of several sent at the same time, the lowest. */
export function applyReportedLimit(
  state: RateLimitState,
  reported: { requestsPerHour: number | null; remainingHour: number | null },
  { sentAtMs, receivedAtMs }: { sentAtMs: number; receivedAtMs: number },
): RateLimitState {
  const { reported: last } = state
  if (last && last.sentAtMs > sentAtMs) return state
  const requestsPerHour =
    reported.requestsPerHour !== null && reported.requestsPerHour > 0 ? reported.requestsPerHour : state.requestsPerHour
  const remaining = reported.remainingHour
  const isHigher = last?.sentAtMs === sentAtMs && remaining !== null && remaining > last.remaining
  return {
    ...state,
    requestsPerHour,
    reported: remaining === null || isHigher ? last : { remaining: Math.max(0, remaining), sentAtMs, receivedAtMs },
  }
}

const sumWhere = (state: RateLimitState, keep: (bucket: Bucket) => boolean): number =>
  state.buckets.reduce((sum, bucket) => (keep(bucket) ? sum + bucket.count : sum), 0)

/** Returns the number of our requests within the rolling hour: all, or those that `counts` selects. */
export const requestsThisHour = (
  state: RateLimitState,
  nowMs: number,
  counts: (bucket: Bucket) => boolean = () => true,
): number => sumWhere(state, bucket => bucket.endMs > nowMs - state.hourMs && counts(bucket))

/** Returns the last report carried forward to `nowMs`: minus our requests since, plus ours that left the hour. Null if none is valid. */
function reportedRemaining(state: RateLimitState, nowMs: number): number | null {
  const { reported, hourMs } = state
  if (reported === null || nowMs >= reported.sentAtMs + hourMs) return null
  const slice = Math.max(1, hourMs / BUCKETS_PER_HOUR)
  const since = sumWhere(state, ({ endMs }) => endMs > reported.receivedAtMs + slice)
  const expired = sumWhere(
    state,
    ({ endMs }) => endMs > reported.receivedAtMs - hourMs + slice && endMs <= nowMs - hourMs,
  )
  return reported.remaining - since + expired
}

/** Returns the requests that may be made now, minus `outstanding` ones (leased, not yet made). May be negative. */
export function requestsLeft(state: RateLimitState, nowMs: number, outstanding: number): number {
  const own = state.requestsPerHour - requestsThisHour(state, nowMs)
  return Math.min(own, reportedRemaining(state, nowMs) ?? own) - outstanding
}

/**
 * Returns when a request beyond the `reserve` may be free again, ms, always later than now. If our own requests use up
 * the limit: when the oldest one leaves the hour. Otherwise after a minute, or when the report expires, because only
 * another answer shows whether the others' requests expired.
 */
export function nextFreeRequestMs(state: RateLimitState, nowMs: number, reserve = 0): number {
  const { hourMs, reported, buckets } = state
  const oldest = Math.min(...buckets.map(bucket => bucket.endMs).filter(endMs => endMs > nowMs - hourMs))
  if (Number.isFinite(oldest) && requestsThisHour(state, nowMs) >= state.requestsPerHour - reserve)
    return oldest + hourMs
  const inAMinute = nowMs + hourMs / 60
  const reportExpires = reported && reported.sentAtMs + hourMs > nowMs ? reported.sentAtMs + hourMs : inAMinute
  return Math.min(oldest + hourMs, reportExpires, inAMinute)
}
