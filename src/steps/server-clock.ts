// The server's clock, as far as `Date` headers tell it. They have whole seconds, so a difference below two is taken for
// none: versions are compared by these times, and jitter must not reorder them. Nor must one answer whose time is wrong: what
// differs is believed when the next answer says the same.

export interface ServerClock {
  /** The server's time for a time of ours, ms. */
  at(localMs: number): number
  /** The same; where the last answer is still in doubt, the earlier of what it told and what is believed. */
  passedAt(localMs: number): number
  /** True where the last answer told a time that is not believed yet. */
  doubts(): boolean
  /** How far the server's clock is believed to be ahead of ours, ms. */
  aheadMs(): number
  /** Takes what an answer told. */
  tell(exchange: Dated): void
}

/** When an answer was sent and received by our clock, and by the server's `Date`, ms. */
export interface Dated {
  serverDateMs: number | null
  sentAtMs: number
  receivedAtMs: number
}

/** How far the server's clock is ahead of ours by one answer, ms; null where it told no time. */
export const aheadBy = ({ serverDateMs, sentAtMs, receivedAtMs }: Dated): number | null =>
  serverDateMs === null ? null : serverDateMs + 500 - (sentAtMs + receivedAtMs) / 2

const JITTER_MS = 2_000

/** Opens it with what another has learnt. */
export function openServerClock(knownAheadMs = 0): ServerClock {
  let aheadMs = knownAheadMs
  /** What the last answer told, where it was not believed. */
  let doubtedMs: number | null = null
  return {
    at: localMs => localMs + aheadMs,
    passedAt: localMs => localMs + Math.min(aheadMs, doubtedMs ?? aheadMs),
    doubts: () => doubtedMs !== null,
    aheadMs: () => aheadMs,
    tell(exchange) {
      const told = aheadBy(exchange)
      if (told === null) return
      const differs = Math.abs(told - aheadMs) > JITTER_MS
      const again = doubtedMs !== null && Math.abs(told - doubtedMs) <= JITTER_MS
      if (differs && again) aheadMs = Math.round(told)
      doubtedMs = differs && !again ? told : null
    },
  }
}
