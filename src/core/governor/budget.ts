// The budget of a workspace: requests and sessions left, as the governor counts them.
import { PACK_SESSIONS, type QuotaState, sessionsLeft } from '../quota/quota.ts'
import type { GovernorState } from './governor.ts'
import { requestsLeft } from './rate-limit.ts'
import { sessionsFor } from './session-budget.ts'

type ReportedQuota = 'known' | 'key' | 'usedSessions' | 'includedSessions' | 'overagePacks' | 'reportedAtMs'

export interface Budget {
  rateLimit: { requestsPerHour: number; requestsLeft: number }
  /** `known` is false until the first usage report; the numbers are then those of the API document. */
  quota: Pick<QuotaState, ReportedQuota> & {
    /** Included sessions plus those of allowed packs. */
    allowedSessions: number
    /** Includes `unansweredSessions`. */
    sessionsLeft: number
    /** Sessions that unanswered requests may have billed. No sync uses them until a usage report shows whether they were billed. */
    unansweredSessions: number
  }
  /** Sessions reserved for new conversations: history may not use them. */
  reserveForNewSessions: number
}

/** Returns the governor without the limits of one run. */
export const unlimited = (governor: GovernorState): GovernorState => ({
  ...governor,
  options: { ...governor.options, maxRequests: null, maxSessions: null },
})

export function budgetOf(governor: GovernorState, nowMs: number): Budget {
  const { rateLimit, quota, options } = governor
  const { known, key, usedSessions, includedSessions, overagePacks, reportedAtMs } = quota
  const all = unlimited(governor)
  const unansweredSessions = quota.pending?.unanswered ?? 0
  return {
    rateLimit: {
      requestsPerHour: rateLimit.requestsPerHour,
      requestsLeft: Math.max(0, requestsLeft(rateLimit, nowMs, 0)),
    },
    quota: {
      ...{ known, key, usedSessions, includedSessions, overagePacks, reportedAtMs },
      allowedSessions: includedSessions + options.allowedPacks * PACK_SESSIONS,
      sessionsLeft: Math.max(0, sessionsLeft(quota, options.allowedPacks) + unansweredSessions),
      unansweredSessions,
    },
    reserveForNewSessions: Math.max(0, sessionsFor(all, 'head', nowMs) - sessionsFor(all, 'tail', nowMs)),
  }
}
