// The quota as the vendor last reported it, read from the lease log, which also records the reports of probes.
import type { WorkspaceConfig } from '../config.ts'
import { type Budget, budgetOf } from '../core/governor/budget.ts'
import type { GovernorState } from '../core/governor/governor.ts'
import { recoverGovernor } from '../core/governor/governor-recovery.ts'
import { NO_OUTLOOK, projectedSessions } from '../core/planning/estimate.ts'
import { HOUR, momentText } from '../core/time.ts'
import type { LeaseLog } from '../landing/lease-log.ts'

export type QuotaStatus = Omit<Budget['quota'], 'known' | 'key' | 'allowedSessions' | 'reportedAtMs'> &
  Budget['rateLimit'] & { periodKey: string | null; reportedAt: string }

interface QuotaQuestion {
  leaseLog: Pick<LeaseLog, 'recent'>
  /** Undefined for a workspace that is in the warehouse but not configured. */
  settings: WorkspaceConfig | undefined
  nowMs: number
}

/** Returns the governor, recovered from the lease log; null until the vendor has reported usage. @throws HOME_UNUSABLE */
async function governorNow({ leaseLog, settings, nowMs }: QuotaQuestion): Promise<GovernorState | null> {
  const hourMs = settings?.hourMs ?? HOUR
  const entries = await leaseLog.recent(nowMs, hourMs)
  const options = settings && {
    requestsPerHour: settings.requestsPerHour,
    hourReserveShare: settings.hourReserveShare,
    headReserveShare: settings.headReserveShare,
  }
  // Lease entries are needed too: they show which requests were in flight at the same time, so that their billed sessions count once.
  const governor = recoverGovernor({ hourMs, ...options }, entries, { nowMs, holdersDead: false })
  if (!governor.quota.known || governor.quota.reportedAtMs === null) return null
  // Open leases are omitted, since only reported usage counts here; the next sync settles them.
  return { ...governor, leases: [] }
}

/** Returns the quota for `status`; null until the vendor has reported usage. @throws HOME_UNUSABLE */
export async function quotaStatus(question: QuotaQuestion): Promise<QuotaStatus | null> {
  const governor = await governorNow(question)
  if (governor === null) return null
  const { rateLimit, quota } = budgetOf(governor, question.nowMs)
  const { key: periodKey, reportedAtMs, known: _known, allowedSessions: _allowed, ...sessions } = quota
  return { periodKey, ...sessions, ...rateLimit, reportedAt: momentText(reportedAtMs!) }
}

/** Sessions that new conversations are expected to use until the period ends, from the warehouse. */
export interface QuotaOutlook {
  /** Sessions of new conversations per day. */
  knownPerDay: number
}

export interface QuotaForecast extends Budget {
  /** Sessions used at the end of the period if only new conversations are exported until then; null if unknown. */
  projectedSessions: number | null
}

/**
 * Returns the budget with its reserve for new conversations and, if `known` is given, a projection; null until the vendor has reported usage.
 * @throws HOME_UNUSABLE
 */
export async function quotaForecast(
  question: QuotaQuestion,
  known: QuotaOutlook | null,
): Promise<QuotaForecast | null> {
  const governor = await governorNow(question)
  if (governor === null) return null
  const { quota } = governor
  if (known === null) return { ...budgetOf(governor, question.nowMs), projectedSessions: null }
  const outlook = { ...NO_OUTLOOK, ...known }
  const budget = budgetOf({ ...governor, outlook }, question.nowMs)
  const ageMs = quota.sinceMs === null ? null : Math.max(0, question.nowMs - quota.sinceMs)
  return { ...budget, projectedSessions: quota.usedSessions + projectedSessions(outlook, ageMs) }
}
