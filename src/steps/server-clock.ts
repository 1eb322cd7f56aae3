// The server's clock, estimated from `Date` headers. They have whole seconds, so an offset below 2 s counts as none: these times order the
// versions of records, and jitter must not reorder them. A new offset is accepted only when two consecutive answers agree on it.

export interface ServerClock {
  /** The server's time for a local time, ms. */
  at(localMs: number): number
  /** The same; while a new offset is not accepted yet, the earlier of the two possible times. */
  passedAt(localMs: number): number
  /** True where the last answer's offset is not accepted yet. */
  doubts(): boolean
  /** Accepted offset of the server's clock, ms ahead of ours. */
  aheadMs(): number
  /** Updates the estimate with an answer. */
  observe(exchange: Dated): void
}

/** When a request was sent and its answer received, by our clock, and the answer's `Date`, ms. */
export interface Dated {
  serverDateMs: number | null
  sentAtMs: number
  receivedAtMs: number
}

/** The offset according to one answer, ms; null without a `Date`. */
export const aheadBy = ({ serverDateMs, sentAtMs, receivedAtMs }: Dated): number | null =>
  serverDateMs === null ? null : serverDateMs + 500 - (sentAtMs + receivedAtMs) / 2

const JITTER_MS = 2_000

/** `knownAheadMs`: the offset that another process has measured. */
export function openServerClock(knownAheadMs = 0): ServerClock {
  let aheadMs = knownAheadMs
  /** The last answer's offset, while it is not accepted. */
  let doubtedMs: number | null = null
  return {
    at: localMs => localMs + aheadMs,
    passedAt: localMs => localMs + Math.min(aheadMs, doubtedMs ?? aheadMs),
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
