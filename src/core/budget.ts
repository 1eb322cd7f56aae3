// What is left to spend: read off the governor, which is what a sync would go by.
import type { GovernorState } from './governor.ts'
import { PACK_SESSIONS, sessionsLeft } from './quota.ts'
import { requestsLeft } from './rate-limit.ts'
import { sessionsFor } from './session-budget.ts'

export interface Budget {
  rateLimit: { requestsPerHour: number; requestsLeft: number }
  /** `known` is false until the vendor has told a usage: the numbers are then what the document says. */
  quota: {
    known: boolean
    key: string | null
    usedSessions: number
    includedSessions: number
    /** Included ones, and those of packs that are allowed: what `sessionsLeft` is left of. */
    allowedSessions: number
    sessionsLeft: number
    overagePacks: number
    reportedAtMs: number | null
  }
  /** Sessions of the period that history leaves alone, for conversations to come. */
  reserveForNewSessions: number
}

/** Without the limits of one run, which would hide what the workspace has. */
export const unlimited = (governor: GovernorState): GovernorState => ({
  ...governor,
  options: { ...governor.options, maxRequests: null, maxSessions: null },
})

/** The workspace's budget at a moment. */
export function budgetOf(governor: GovernorState, nowMs: number): Budget {
  const { rateLimit, quota, options } = governor
  const all = unlimited(governor)
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
      sessionsLeft: Math.max(0, sessionsLeft(quota, options.allowedPacks)),
      overagePacks: quota.overagePacks,
      reportedAtMs: quota.reportedAtMs,
    },
    reserveForNewSessions: Math.max(0, sessionsFor(all, 'head', nowMs) - sessionsFor(all, 'tail', nowMs)),
  }
}
