// What is left to spend, and how a plan lies in it: read off the governor, which is what a sync would go by.
import type { Prepared } from '../../../workflows/steps.ts'
import { type Layout, layOut } from '../../core/estimate.ts'
import { type GovernorState, requestsFor } from '../../core/governor.ts'
import { requestsLeft } from '../../core/hour.ts'
import { PACK_SESSIONS, sessionsLeft } from '../../core/period.ts'
import { sessionsFor } from '../../core/session-budget.ts'

export interface Budget {
  hour: { requestsPerHour: number; requestsLeft: number }
  /** `known` is false until the vendor has told a usage: the numbers are then what the document says. */
  period: {
    known: boolean
    key: string | null
    usedSessions: number
    includedSessions: number
    /** Included ones, and those of packs that are allowed: what `sessionsLeft` is left of. */
    allowedSessions: number
    sessionsLeft: number
    overagePacks: number
    toldAtMs: number | null
  }
  /** Sessions of the period that history leaves alone, for conversations to come. */
  reserveForNewSessions: number
}

/** Without the limits of one run, which would hide what the workspace has. */
const unlimited = (governor: GovernorState): GovernorState => ({
  ...governor,
  options: { ...governor.options, maxRequests: null, maxSessions: null },
})

/** The workspace's budget at a moment. */
export function budgetOf(governor: GovernorState, nowMs: number): Budget {
  const { hour, period, options } = governor
  const all = unlimited(governor)
  return {
    hour: { requestsPerHour: hour.requestsPerHour, requestsLeft: Math.max(0, requestsLeft(hour, nowMs, 0)) },
    period: {
      known: period.known,
      key: period.key,
      usedSessions: period.usedSessions,
      includedSessions: period.includedSessions,
      allowedSessions: period.includedSessions + options.allowedPacks * PACK_SESSIONS,
      sessionsLeft: Math.max(0, sessionsLeft(period, options.allowedPacks)),
      overagePacks: period.overagePacks,
      toldAtMs: period.toldAtMs,
    },
    reserveForNewSessions: Math.max(0, sessionsFor(all, 'head', nowMs) - sessionsFor(all, 'tail', nowMs)),
  }
}

/** Hours and periods that the priced part of a plan takes. */
export function layoutOf({ plan, governor }: Prepared, nowMs: number): Layout {
  const all = unlimited(governor)
  const budget = budgetOf(governor, nowMs)
  return layOut(plan.total, {
    requestsPerHour: Math.max(1, budget.hour.requestsPerHour),
    requestsLeft: Math.max(0, requestsFor(all, 'tail', nowMs)),
    sessionsLeft: Math.max(0, sessionsFor(all, 'tail', nowMs)),
    sessionsPerPeriod: Math.max(1, budget.period.includedSessions - budget.reserveForNewSessions),
  })
}
