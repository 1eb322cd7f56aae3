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
