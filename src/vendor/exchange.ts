// One request and what came back, as the client's clock and the vendor's headers tell it.

import { boundedWaitMs } from '../core/reported-usage.ts'

/** What an answer says outside its body. Times are ms since the epoch. */
export interface Receipt {
  status: number
  contentType: string | null
  /** `Content-Encoding`, though none was asked for; null where it is absent. */
  contentEncoding: string | null
  /** The vendor's clock (`Date`), which has whole seconds. */
  serverDateMs: number | null
  /** How long the vendor asks to wait (`Retry-After`). */
  retryAfterMs: number | null
  /** This machine's clock, just before the request left and just after the last byte came. */
  sentAtMs: number
  receivedAtMs: number
}

export interface Exchange extends Receipt {
  /** The body as it came, byte for byte, but for the token. */
  body: Buffer
  /** How often the token stood in it; absent where it did not. */
  tokensMasked?: number
}

/** The receipt alone, for answers whose bytes may hold secrets. */
export function receiptOf({ body: _bytes, ...receipt }: Exchange): Receipt {
  return receipt
}

/** A clock that tells a time outside of these is not set, and nothing is reckoned by it. */
const [FIRST_YEAR_MS, LAST_YEAR_MS] = [Date.UTC(1990, 0), Date.UTC(2100, 0)]

/** The `Date` header in ms, or null. */
export function readServerDate(header: string | undefined): number | null {
  const ms = header === undefined ? Number.NaN : Date.parse(header)
  return ms >= FIRST_YEAR_MS && ms < LAST_YEAR_MS ? ms : null
}

/**
 * `Retry-After` in ms from now, at most an hour: seconds, or an HTTP date, which is measured against the vendor's own clock where
 * it was told, since ours may be off. A time that has passed is no wait. Null where the header is absent or unreadable.
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null
  if (/^\s*\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(header)) return boundedWaitMs(Number(header) * 1_000)
  const at = header.includes(':') ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? null : boundedWaitMs(Math.max(0, at - nowMs))
}
