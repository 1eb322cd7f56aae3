// One request and what came back, as the client's clock and the vendor's headers tell it.

/** What an answer says outside its body. Times are ms since the epoch. */
export interface Receipt {
  status: number
  contentType: string | null
  /** The vendor's clock (`Date`), which has whole seconds. */
  serverDateMs: number | null
  /** How long the vendor asks to wait (`Retry-After`). */
  retryAfterMs: number | null
  /** This machine's clock, just before the request left and just after the last byte came. */
  sentAtMs: number
  receivedAtMs: number
}

export interface Exchange extends Receipt {
  /** The body as it came, byte for byte. */
  body: Buffer
}

/** The receipt alone, for answers whose bytes may hold secrets. */
export function receiptOf({ body: _bytes, ...receipt }: Exchange): Receipt {
  return receipt
}

/** The `Date` header in ms, or null. */
export function readServerDate(header: string | undefined): number | null {
  const ms = header === undefined ? Number.NaN : Date.parse(header)
  return Number.isNaN(ms) ? null : ms
}

/**
 * `Retry-After` in ms from now: seconds, or an HTTP date, which is measured against the vendor's own clock where it was told,
 * since ours may be off. Null where the header is absent or unreadable.
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Math.ceil(Number(header) * 1_000)
  const at = header.includes(':') ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}
