// Usage and limits that the vendor reports with each answer (section 2.11). Reports can be late, out of order, partial, or reset.

import { HOUR } from '../time.ts'

export interface ReportedUsage {
  periodKey: string | null
  billableUsedThisRequest: number | null
  billableUsedThisPeriod: number | null
  includedQuota: number | null
  billableRemainingThisPeriod: number | null
  overageUsedThisPeriod: number | null
  overagePacksCharged: number | null
  exportRequestCount: number | null
}

/** Identifies a billed answer to the vendor, for disputes about a bill. No decision depends on it. */
export interface ReportedBill {
  logId: string | null
  summary: string | null
}

export interface ReportedRateLimit {
  requestsPerHour: number | null
  remainingHour: number | null
}

/** Larger counts are mistakes: no workspace has that many conversations, sessions or requests. */
const MAX_COUNT = 1e12

/** Matches a JSON number. `Number` alone would also read hexadecimal, and the empty string as 0. */
const NUMERAL = /^\s*-?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i

/** Returns a number or numeric string within MAX_COUNT, and 0 for -0, which JSON does not keep; null for anything else. */
function parseNumber(value: unknown): number | null {
  const number = typeof value === 'string' && NUMERAL.test(value) ? Number(value) : value
  return typeof number === 'number' && Math.abs(number) <= MAX_COUNT ? number + 0 : null
}

/** Returns a used count, rounded up; null for a negative one. */
export function parseCount(value: unknown): number | null {
  const number = parseNumber(value)
  return number === null || number < 0 ? null : Math.ceil(number)
}

/** Returns an allowed count, rounded down; null for a negative one. */
function parseAllowance(value: unknown): number | null {
  const number = parseNumber(value)
  return number === null || number < 0 ? null : Math.floor(number)
}

/** Returns a remaining count, rounded down; a negative one is 0. */
function parseRemaining(value: unknown): number | null {
  const number = parseNumber(value)
  return number === null ? null : Math.max(0, Math.floor(number))
}

/** Upper bound of a `Retry-After`: the vendor's limits reset within the hour. */
const MAX_WAIT_MS = HOUR

/** Returns the wait that the vendor requests, ms, at most an hour; null for a negative time. */
export const boundedWaitMs = (ms: number | null): number | null =>
  ms !== null && ms >= 0 ? Math.min(Math.ceil(ms), MAX_WAIT_MS) : null

/** Returns the reported usage, with null instead of implausible counts. */
export const sanitizeUsage = (usage: { [name in keyof ReportedUsage]?: unknown }): ReportedUsage => ({
  periodKey: typeof usage.periodKey === 'string' ? usage.periodKey : null,
  billableUsedThisRequest: parseCount(usage.billableUsedThisRequest),
  billableUsedThisPeriod: parseCount(usage.billableUsedThisPeriod),
  includedQuota: parseAllowance(usage.includedQuota),
  billableRemainingThisPeriod: parseRemaining(usage.billableRemainingThisPeriod),
  overageUsedThisPeriod: parseCount(usage.overageUsedThisPeriod),
  overagePacksCharged: parseCount(usage.overagePacksCharged),
  exportRequestCount: parseCount(usage.exportRequestCount),
})

/** Returns the reported rate limit, with null instead of implausible counts. */
export const sanitizeRateLimit = (limits: { [name in keyof ReportedRateLimit]?: unknown }): ReportedRateLimit => ({
  requestsPerHour: parseAllowance(limits.requestsPerHour),
  remainingHour: parseRemaining(limits.remainingHour),
})

/** Replaces implausible counts in an answer of the client or the lease log. Keeps its times, which are our clock's. */
export const sanitizeAnswer = <
  A extends {
    returned: number
    billed: number | null
    usage: ReportedUsage | null
    rateLimit: ReportedRateLimit | null
    retryAfterMs: number | null
  },
>(
  answer: A,
): A => ({
  ...answer,
  returned: parseCount(answer.returned) ?? 0,
  billed: parseCount(answer.billed),
  usage: answer.usage && sanitizeUsage(answer.usage),
  rateLimit: answer.rateLimit && sanitizeRateLimit(answer.rateLimit),
  retryAfterMs: boundedWaitMs(answer.retryAfterMs),
})

/** Statuses below 500 for which the same request may succeed later: timeout, too early, too many. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** True if the vendor failed, or did not answer (null): it may answer the same request later. */
export const isVendorFailure = (status: number | null): boolean =>
  status === null || status >= 500 || RETRYABLE_STATUSES.has(status)
