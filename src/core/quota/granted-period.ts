// The billing period of a lease, by which its holder notices an answer that contradicts it; then all leases of its process end.
import { includedOf, PACK_SESSIONS, type QuotaState, reportedUsed } from './quota.ts'
import type { ReportedUsage } from './reported-usage.ts'

/** What a lease knows of the billing period that its sessions belong to. */
export interface GrantedPeriod {
  key: string | null
  includedSessions: number
  isIncludedReported: boolean
  allowedPacks: number
}

export const grantedPeriod = (quota: QuotaState, allowedPacks: number): GrantedPeriod => ({
  key: quota.key,
  includedSessions: quota.includedSessions,
  isIncludedReported: quota.isIncludedReported,
  allowedPacks,
})

/** False where a report names another period than the lease's, or leaves fewer than `sessions` of it. */
export function fitsReport(period: GrantedPeriod, usage: ReportedUsage, sessions: number): boolean {
  const { key, allowedPacks } = period
  if (key !== null && usage.periodKey !== null && usage.periodKey !== key) return false
  const included = includedOf(period, usage)
  return (reportedUsed(usage, included) ?? 0) + sessions <= included + allowedPacks * PACK_SESSIONS
}
