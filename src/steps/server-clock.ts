// The server's clock, estimated from `Date` headers. They have whole seconds, so an offset below 2 s counts as none:
// these times order the versions of records, and jitter must not reorder them. A new offset is accepted only when two
// consecutive answers agree on it. Either clock may be wrong, so a second counts as passed once it has passed on both.
import { JITTER_MS } from '../core/planning/unpassed-time.ts'
import { formatDuration } from '../core/time.ts'

export interface ServerClock {
  /** Returns the server's time for a local time, ms. */
  at(localMs: number): number
  /** Returns the time that both clocks have passed; with an unaccepted offset, the earliest of the three possible times. */
  passedAt(localMs: number): number
  /** Returns the latest of the possible times. */
  latestAt(localMs: number): number
  /** True if the last answer's offset is not accepted yet. */
  doubts(): boolean
  /** Returns the accepted offset of the server's clock, ms ahead of ours. */
  aheadMs(): number
  /** Updates the estimate from an answer's `Date`. */
  observe(exchange: Dated): void
}

/** Times when a request was sent and its answer received, by our clock, and the answer's `Date`, ms. */
export interface Dated {
  serverDateMs: number | null
  sentAtMs: number
  receivedAtMs: number
}

/** Returns the offset according to one answer, ms; null without a `Date`. */
export const aheadBy = ({ serverDateMs, sentAtMs, receivedAtMs }: Dated): number | null =>
  serverDateMs === null ? null : serverDateMs + 500 - (sentAtMs + receivedAtMs) / 2

/** Describes how our clock differs from the vendor's, and the consequences. `aheadMs`: the vendor's offset. */
export function clocksApart(aheadMs: number): string {
  const apart = formatDuration(Math.abs(aheadMs))
  if (aheadMs > 0) return `is ${apart} behind the vendor's, so new conversations arrive ${apart} later`
  return `is ${apart} ahead of the vendor's, so displayed ages are ${apart} too old`
}

/** Opens a clock. `knownAheadMs`: the offset that another process has measured. */
export function openServerClock(knownAheadMs = 0): ServerClock {
  let aheadMs = knownAheadMs
  /** The last answer's offset while it is not accepted. */
  let doubtedMs: number | null = null
  return {
    at: localMs => localMs + aheadMs,
    passedAt: localMs => localMs + Math.min(0, aheadMs, doubtedMs ?? 0),
    latestAt: localMs => localMs + Math.max(0, aheadMs, doubtedMs ?? 0),
    doubts: () => doubtedMs !== null,
    aheadMs: () => aheadMs,
    observe(exchange) {
      const offsetMs = aheadBy(exchange)
      if (offsetMs === null) return
      const differs = Math.abs(offsetMs - aheadMs) > JITTER_MS
      const again = doubtedMs !== null && Math.abs(offsetMs - doubtedMs) <= JITTER_MS
      if (differs && again) aheadMs = Math.round(offsetMs)
      doubtedMs = differs && !again ? offsetMs : null
    },
  }
}
