// What the vendor tells about quota beside each answer (section 2.11). It can be late, out of order, partial, or reset.

import { HOUR } from './time.ts'

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

/** What identifies a billed answer at the vendor: a dispute about a bill needs it. No decision is made of it. */
export interface ReportedBill {
  logId: string | null
  summary: string | null
}

export interface ReportedRateLimit {
  requestsPerHour: number | null
  remainingHour: number | null
}

/** Above this a count is a mistake: no workspace has so many conversations, sessions or requests. */
const MAX_COUNT = 1e12

/** A number as JSON writes it: `Number` alone also reads hexadecimal, and an empty text as 0. */
const NUMERAL = /^\s*-?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i

/** Null where a value is no number, none that anything here could reckon with, or a text that is no numeral. */
function parseNumber(value: unknown): number | null {
  const number = typeof value === 'string' && NUMERAL.test(value) ? Number(value) : value
  return typeof number === 'number' && Math.abs(number) <= MAX_COUNT ? number : null
}

/** What was used, in whole numbers: a part of one counts as one. Null for less than none. */
export function parseCount(value: unknown): number | null {
  const number = parseNumber(value)
  return number === null || number < 0 ? null : Math.ceil(number)
}

/** What may be used, in whole numbers: a part of one counts as none. Null for less than none. */
export function parseAllowance(value: unknown): number | null {
  const number = parseNumber(value)
  return number === null || number < 0 ? null : Math.floor(number)
}

/** What is left, likewise; less than none is none. */
export function parseRemaining(value: unknown): number | null {
  const number = parseNumber(value)
  return number === null ? null : Math.max(0, Math.floor(number))
}

/** Nobody waits longer for a vendor who says when to come back: its own limits turn within the hour. */
const MAX_WAIT_MS = HOUR

/** How long a vendor asks to wait, ms; at most an hour, and null for what is no time ahead. */
export const boundedWaitMs = (ms: number | null): number | null =>
  ms !== null && ms >= 0 ? Math.min(Math.ceil(ms), MAX_WAIT_MS) : null

/** What an answer tells of usage, with only those counts that can be reckoned with. */
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

/** What an answer tells of the rate limit, likewise. */
export const sanitizeRateLimit = (limits: { [name in keyof ReportedRateLimit]?: unknown }): ReportedRateLimit => ({
  requestsPerHour: parseAllowance(limits.requestsPerHour),
  remainingHour: parseRemaining(limits.remainingHour),
})

/**
 * An answer with only what can be reckoned with, whoever hands it in: the client, a worker of another version, the ledger. Its times are
 * of our own clock.
 */
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

/** Statuses below 500 that say nothing of the request itself: too late, too early, too many. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** True where the vendor failed, or did not answer (null): the same request may be answered later. */
export const isVendorFailure = (status: number | null): boolean =>
  status === null || status >= 500 || RETRYABLE_STATUSES.has(status)
