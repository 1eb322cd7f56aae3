// The hour: how many requests may still be made within it. The vendor's counter may be a rolling or a fixed hour, may be
// shared with others on the same token, late or reset; so the lower of two counts is believed: our own rolling one, and
// the last one told, carried forward by what we know since.

/** Requests answered within one slice of time, counted as if made at its end: never forgotten too early. */
interface Bucket {
  endMs: number
  count: number
}

export interface RateLimitState {
  hourMs: number
  requestsPerHour: number
  buckets: readonly Bucket[]
  /** The newest told count, by the time its request was sent. */
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
 * Counts a request, by when its answer came (or was given up): the vendor counted it somewhere between, and it must not
 * leave our hour before it leaves the vendor's. Two hours are kept: the told count is carried forward by what expires.
 */
export function countRequest(state: RateLimitState, receivedAtMs: number, count = 1): RateLimitState {
  const slice = Math.max(1, state.hourMs / BUCKETS_PER_HOUR)
  const endMs = (Math.floor(receivedAtMs / slice) + 1) * slice
  const kept = state.buckets.filter(bucket => bucket.endMs > receivedAtMs - 2 * state.hourMs)
  const known = kept.find(bucket => bucket.endMs === endMs)
  const others = kept.filter(bucket => bucket !== known)
  return { ...state, buckets: [...others, { endMs, count: (known?.count ?? 0) + count }] }
}

/** Takes what an answer told. Answers that overtake each other are ordered by the time their request was sent. */
export function applyReportedLimit(
  state: RateLimitState,
  reported: { requestsPerHour: number | null; remainingHour: number | null },
  { sentAtMs, receivedAtMs }: { sentAtMs: number; receivedAtMs: number },
): RateLimitState {
  if (state.reported && state.reported.sentAtMs > sentAtMs) return state
  const requestsPerHour =
    reported.requestsPerHour !== null && reported.requestsPerHour > 0 ? reported.requestsPerHour : state.requestsPerHour
  const remaining = reported.remainingHour
  return {
    ...state,
    requestsPerHour,
    reported: remaining === null ? state.reported : { remaining: Math.max(0, remaining), sentAtMs, receivedAtMs },
  }
}

const sumWhere = (state: RateLimitState, keep: (endMs: number) => boolean): number =>
  state.buckets.reduce((sum, bucket) => (keep(bucket.endMs) ? sum + bucket.count : sum), 0)

/** Requests of ours that the rolling hour still holds. */
export const requestsThisHour = (state: RateLimitState, nowMs: number): number =>
  sumWhere(state, endMs => endMs > nowMs - state.hourMs)

/** The told count as it must be now: less what we sent since, plus what of ours has left the hour since. Null: none, or expired. */
function reportedRemaining(state: RateLimitState, nowMs: number): number | null {
  const { reported, hourMs } = state
  if (reported === null || nowMs >= reported.sentAtMs + hourMs) return null
  const slice = Math.max(1, hourMs / BUCKETS_PER_HOUR)
  const since = sumWhere(state, endMs => endMs > reported.receivedAtMs + slice)
  const expired = sumWhere(state, endMs => endMs > reported.receivedAtMs - hourMs + slice && endMs <= nowMs - hourMs)
  return reported.remaining - since + expired
}

/** Requests that may be made now, besides `outstanding` ones that are leased and not yet made. May be negative. */
export function requestsLeft(state: RateLimitState, nowMs: number, outstanding: number): number {
  const own = state.requestsPerHour - requestsThisHour(state, nowMs)
  return Math.min(own, reportedRemaining(state, nowMs) ?? own) - outstanding
}

/**
 * When there may be room again besides a `reserve`, ms, always later than now: when the oldest of our requests leaves the
 * hour. Where it is others' that fill it, when a minute has passed, or when what was told expires: only asking tells
 * whether they have left.
 */
export function nextFreeRequestMs(state: RateLimitState, nowMs: number, reserve = 0): number {
  const { hourMs, reported, buckets } = state
  const oldest = Math.min(...buckets.map(bucket => bucket.endMs).filter(endMs => endMs > nowMs - hourMs))
  if (Number.isFinite(oldest) && requestsThisHour(state, nowMs) >= state.requestsPerHour - reserve)
    return oldest + hourMs
  const inAMinute = nowMs + hourMs / 60
  const toldExpires = reported && reported.sentAtMs + hourMs > nowMs ? reported.sentAtMs + hourMs : inAMinute
  return Math.min(oldest + hourMs, toldExpires, inAMinute)
}
