// What the vendor tells about quota beside each answer (section 2.11). It can be late, out of order, partial, or reset.

export interface UsageTold {
  periodKey: string | null
  billableUsedThisRequest: number | null
  billableUsedThisPeriod: number | null
  includedQuota: number | null
  billableRemainingThisPeriod: number | null
  overageUsedThisPeriod: number | null
  overagePacksCharged: number | null
  exportRequestCount: number | null
}

export interface RateLimitTold {
  requestsPerHour: number | null
  remainingHour: number | null
}

/** Above this a count is a mistake: no workspace has so many conversations, sessions or requests. */
const MOST = 1e12

/** A number as JSON writes it: `Number` alone also reads hexadecimal, and an empty text as 0. */
const NUMERAL = /^\s*-?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i

/** Null where a value is no number, none that anything here could reckon with, or a text that is no numeral. */
function soundNumber(value: unknown): number | null {
  const number = typeof value === 'string' && NUMERAL.test(value) ? Number(value) : value
  return typeof number === 'number' && Math.abs(number) <= MOST ? number : null
}

/** What was used, in whole numbers: a part of one counts as one. Null for less than none. */
export function soundCount(value: unknown): number | null {
  const number = soundNumber(value)
  return number === null || number < 0 ? null : Math.ceil(number)
}

/** What may be used, in whole numbers: a part of one counts as none. Null for less than none. */
export function soundAllowance(value: unknown): number | null {
  const number = soundNumber(value)
  return number === null || number < 0 ? null : Math.floor(number)
}

/** What is left, likewise; less than none is none. */
export function soundRest(value: unknown): number | null {
  const number = soundNumber(value)
  return number === null ? null : Math.max(0, Math.floor(number))
}

/** What an answer tells of usage, with only those counts that can be reckoned with. */
export const soundUsage = (usage: { [name in keyof UsageTold]?: unknown }): UsageTold => ({
  periodKey: typeof usage.periodKey === 'string' ? usage.periodKey : null,
  billableUsedThisRequest: soundCount(usage.billableUsedThisRequest),
  billableUsedThisPeriod: soundCount(usage.billableUsedThisPeriod),
  includedQuota: soundAllowance(usage.includedQuota),
  billableRemainingThisPeriod: soundRest(usage.billableRemainingThisPeriod),
  overageUsedThisPeriod: soundCount(usage.overageUsedThisPeriod),
  overagePacksCharged: soundCount(usage.overagePacksCharged),
  exportRequestCount: soundCount(usage.exportRequestCount),
})

/** What an answer tells of the rate limit, likewise. */
export const soundLimits = (limits: { [name in keyof RateLimitTold]?: unknown }): RateLimitTold => ({
  requestsPerHour: soundAllowance(limits.requestsPerHour),
  remainingHour: soundRest(limits.remainingHour),
})
