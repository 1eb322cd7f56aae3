// The quota after a restart: rebuilt from the usage reports of loaded and landed answers.
import { applyPeriod, PAST_KEYS_KEPT } from './billing-period.ts'
import { type BilledAnswer, INCLUDED_SESSIONS, newQuota, type QuotaState } from './quota.ts'
import type { ReportedUsage } from './reported-usage.ts'
import { newAccount } from './usage-account.ts'

/** What the loaded answers have reported about one period. */
interface ReportedPeriod {
  key: string
  /** True if no period is proved yet and this is the first one that was reported (see `recoverQuota`). */
  unproved: boolean
  usedSessions: number
  /** Sessions that are certainly used: what our own answers billed, and the minimum that others used. */
  certainSessions: number
  includedSessions: number | null
  overageSessions: number
  overagePacks: number
  sinceMs: number
  reportedAtMs: number
}

/**
 * Rebuilds the quota from the loaded answers. `proved`: the periods that two consecutive answers reported, oldest first; if there is none,
 * the only reported period. `newest`: the periods that the newest two answers reported, newest first, proved or not.
 */
export function recoverQuota({
  proved,
  newest,
}: {
  proved: readonly ReportedPeriod[]
  newest: readonly { key: string; usedSessions: number; reportedAtMs: number }[]
}): QuotaState {
  const running = proved.at(-1)
  if (running === undefined) return newQuota()
  const { key, usedSessions, overageSessions, overagePacks, sinceMs, reportedAtMs } = running
  const known = new Set(proved.map(period => period.key))
  const place = newest.findIndex(answer => !known.has(answer.key))
  const unknown = newest[place]
  return {
    ...newQuota(),
    key,
    known: true,
    usedSessions: Math.max(usedSessions, running.certainSessions),
    includedSessions: running.includedSessions ?? INCLUDED_SESSIONS,
    overageSessions,
    overagePacks,
    reportedAtMs,
    sinceMs,
    unproved: running.unproved,
    candidate: unknown
      ? {
          key: unknown.key,
          usedSessions: unknown.usedSessions,
          isNewest: place === 0,
          reports: 1,
          sinceMs: unknown.reportedAtMs,
          contradictions: place,
        }
      : null,
    pastKeys: proved
      .slice(0, -1)
      .map(period => period.key)
      .slice(-PAST_KEYS_KEPT),
  }
}

/** Applies the usage of a landed answer that is not loaded. Its own sessions are left to the lease log, which may not reach back so far. */
export function applyLandedUsage(
  quota: QuotaState,
  usage: ReportedUsage,
  answer: Omit<BilledAnswer, 'billed'>,
): QuotaState {
  const { account: _counted, previous: _unknown, ...next } = applyPeriod(quota, usage, { ...answer, billed: 0 })
  return { ...next, account: newAccount() }
}
