// How a plan lies in the workspace's budget.
import type { Prepared } from '../../../workflows/steps.ts'
import { budgetOf, unlimited } from '../../core/budget.ts'
import { type Layout, layOut } from '../../core/estimate.ts'
import { requestsFor } from '../../core/governor.ts'
import { sessionsFor } from '../../core/session-budget.ts'

/** Hours and periods that the priced part of a plan takes. */
export function layoutOf({ plan, governor }: Prepared, nowMs: number): Layout {
  const all = unlimited(governor)
  const budget = budgetOf(governor, nowMs)
  return layOut(plan.total, {
    requestsPerHour: Math.max(1, budget.rateLimit.requestsPerHour),
    requestsLeft: Math.max(0, requestsFor(all, 'tail', nowMs)),
    sessionsLeft: Math.max(0, sessionsFor(all, 'tail', nowMs)),
    sessionsPerPeriod: Math.max(1, budget.quota.includedSessions - budget.reserveForNewSessions),
  })
}
