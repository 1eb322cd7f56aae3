// A response, with the times of its request by this machine's clock and the vendor's headers.

import { boundedWaitMs } from '../core/quota/reported-usage.ts'

/** A response without its body. Times are ms since the epoch. */
export interface Receipt {
  status: number
  contentType: string | null
  /** `Content-Encoding` of a body that could not be decoded; null for a plain or decoded body. */
  contentEncoding: string | null
  /** The vendor's clock (`Date`), in whole seconds. */
  serverDateMs: number | null
  /** `Retry-After`; null if absent or unreadable. */
  retryAfterMs: number | null
  /** By this machine's clock, just before sending and just after the last byte. */
  sentAtMs: number
  receivedAtMs: number
}

export interface Exchange extends Receipt {
  /** The body, byte for byte except for masked tokens. */
  body: Buffer
  /** Number of masked occurrences of the token; omitted if there are none. */
  tokensMasked?: number
}

/** Returns the response without its body, which may contain secrets. */
export function receiptOf({ body: _bytes, ...receipt }: Exchange): Receipt {
  return receipt
}

/** A `Date` outside these years comes from a clock that is not set, and is ignored. */
const [FIRST_YEAR_MS, LAST_YEAR_MS] = [Date.UTC(1990, 0), Date.UTC(2100, 0)]

/** Returns the `Date` header in ms, or null. */
export function readServerDate(header: string | undefined): number | null {
  const ms = header === undefined ? Number.NaN : Date.parse(header)
  return ms >= FIRST_YEAR_MS && ms < LAST_YEAR_MS ? ms : null
}

/**
 * Parses `Retry-After` to ms from now, at most an hour: seconds, or an HTTP date, measured against the vendor's clock
 * if known, since ours may be off. A past date means no wait. Null if the header is missing or unreadable.
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null
  if (/^\s*\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(header)) return boundedWaitMs(Number(header) * 1_000)
  const at = header.includes(':') ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? null : boundedWaitMs(Math.max(0, at - nowMs))
}
