// The budget of a workspace: requests and sessions left, as the governor counts them.

import { PACK_SESSIONS, sessionsLeft } from '../quota/quota.ts'
import type { GovernorState } from './governor.ts'
import { requestsLeft } from './rate-limit.ts'
import { sessionsFor } from './session-budget.ts'

export interface Budget {
  rateLimit: { requestsPerHour: number; requestsLeft: number }
  /** `known` is false until the first usage report; the numbers are then those of the API document. */
  quota: {
    known: boolean
    key: string | null
    usedSessions: number
    includedSessions: number
    /** Included sessions and those of allowed packs. */
    allowedSessions: number
    /** Includes `unansweredSessions`. */
    sessionsLeft: number
    /** Sessions that unanswered requests may have billed: no sync uses them until a usage report shows whether they were. */
    unansweredSessions: number
    overagePacks: number
    reportedAtMs: number | null
  }
  /** Sessions reserved for new conversations: history may not use them. */
  reserveForNewSessions: number
}

/** The governor without the limits of one run. */
export const unlimited = (governor: GovernorState): GovernorState => ({
  ...governor,
  options: { ...governor.options, maxRequests: null, maxSessions: null },
})

export function budgetOf(governor: GovernorState, nowMs: number): Budget {
  const { rateLimit, quota, options } = governor
  const all = unlimited(governor)
  const unansweredSessions = quota.pending?.unanswered ?? 0
  return {
    rateLimit: {
      requestsPerHour: rateLimit.requestsPerHour,
      requestsLeft: Math.max(0, requestsLeft(rateLimit, nowMs, 0)),
    },
    quota: {
      known: quota.known,
      key: quota.key,
      usedSessions: quota.usedSessions,
      includedSessions: quota.includedSessions,
      allowedSessions: quota.includedSessions + options.allowedPacks * PACK_SESSIONS,
      sessionsLeft: Math.max(0, sessionsLeft(quota, options.allowedPacks) + unansweredSessions),
      unansweredSessions,
      overagePacks: quota.overagePacks,
      reportedAtMs: quota.reportedAtMs,
    },
    reserveForNewSessions: Math.max(0, sessionsFor(all, 'head', nowMs) - sessionsFor(all, 'tail', nowMs)),
  }
}
