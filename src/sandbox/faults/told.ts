// What a fault of the stage `told` makes of usage and rate limit: wrong in one answer, while the real counters go on.
import type { Quota, Usage } from '../quota.ts'
import type { FaultPlan } from './faults.ts'

export interface Told {
  usage: Usage
  rateLimit: { requestsPerHour: number; remainingHour: number }
}

const SPENT = { periodKey: 'elsewhere.0', billableRemainingThisPeriod: 0 }

export function mistell({ usage, rateLimit }: Told, plan: FaultPlan, quota: Quota, nowMs: number): Told {
  const fits = (name: string) => name !== 'old-period-told' || quota.before(nowMs) !== undefined
  switch (plan.take('told', fits)?.name) {
    case 'hour-told-high':
      return { usage, rateLimit: { ...rateLimit, remainingHour: rateLimit.requestsPerHour } }
    case 'usage-told-low':
      return { usage: quota.onlyThis(usage, nowMs), rateLimit }
    case 'old-period-told':
      return { usage: { ...quota.before(nowMs)!, billableUsedThisRequest: usage.billableUsedThisRequest }, rateLimit }
    case 'unseen-period-told':
      return { usage: { ...usage, ...SPENT, billableUsedThisPeriod: usage.includedQuota }, rateLimit }
    default:
      return { usage, rateLimit }
  }
}
