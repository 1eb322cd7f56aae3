// The server's clock, estimated from `Date` headers. These have whole seconds, so offsets below 2 s count as none: versions are compared
// by these times, and jitter must not reorder them. A different offset is accepted only when two answers in a row agree on it.

export interface ServerClock {
  /** The server's time for a local time, ms. */
  at(localMs: number): number
  /** The same, or the earlier time implied by the last answer where that one is still in doubt. */
  passedAt(localMs: number): number
  /** True where the last answer's offset is not accepted yet. */
  doubts(): boolean
  /** Accepted offset of the server's clock, ms ahead of ours. */
  aheadMs(): number
  /** Takes an answer into account. */
  observe(exchange: Dated): void
}

/** When an answer was sent and received by our clock, and by the server's `Date`, ms. */
export interface Dated {
  serverDateMs: number | null
  sentAtMs: number
  receivedAtMs: number
}

/** The offset by one answer, ms; null without a `Date`. */
export const aheadBy = ({ serverDateMs, sentAtMs, receivedAtMs }: Dated): number | null =>
  serverDateMs === null ? null : serverDateMs + 500 - (sentAtMs + receivedAtMs) / 2

const JITTER_MS = 2_000

/** `knownAheadMs`: an offset that another process has learnt. */
export function openServerClock(knownAheadMs = 0): ServerClock {
  let aheadMs = knownAheadMs
  /** The last answer's offset, where it is not accepted. */
  let doubtedMs: number | null = null
  return {
    at: localMs => localMs + aheadMs,
    passedAt: localMs => localMs + Math.min(aheadMs, doubtedMs ?? aheadMs),
    doubts: () => doubtedMs !== null,
    aheadMs: () => aheadMs,
    observe(exchange) {
      const told = aheadBy(exchange)
      if (told === null) return
      const differs = Math.abs(told - aheadMs) > JITTER_MS
      const again = doubtedMs !== null && Math.abs(told - doubtedMs) <= JITTER_MS
      if (differs && again) aheadMs = Math.round(told)
      doubtedMs = differs && !again ? told : null
    },
  }
}
