// The server's clock, as far as `Date` headers tell it. They have whole seconds, so a difference below two is taken for
// none: versions are compared by these times, and jitter must not reorder them.

export interface ServerClock {
  /** The server's time for a time of ours, ms. */
  at(localMs: number): number
  /** Takes what an answer told. */
  tell(exchange: { serverDateMs: number | null; sentAtMs: number; receivedAtMs: number }): void
}

const JITTER_MS = 2_000

export function openServerClock(): ServerClock {
  let aheadMs = 0
  return {
    at: localMs => localMs + aheadMs,
    tell({ serverDateMs, sentAtMs, receivedAtMs }) {
      if (serverDateMs === null) return
      const told = serverDateMs + 500 - (sentAtMs + receivedAtMs) / 2
      if (Math.abs(told - aheadMs) > JITTER_MS) aheadMs = Math.round(told)
    },
  }
}
