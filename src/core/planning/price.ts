// Formats the price of a plan, and decides whether people should read it before the sync begins.
import { ConvohouseError } from '../errors.ts'
import { budgetOf, unlimited } from '../governor/budget.ts'
import { type GovernorState, requestsFor } from '../governor/governor.ts'
import { sessionsFor } from '../governor/session-budget.ts'
import { counted, hours, range } from '../words.ts'
import { type Layout, layOut, type Range, rangeText } from './estimate.ts'
import type { Plan } from './planner.ts'

interface Priced {
  plan: Plan
  governor: GovernorState
}

/** Returns how many hours and billing periods the estimated part of a plan takes. */
export function layoutOf({ plan, governor }: Priced, nowMs: number): Layout {
  const all = unlimited(governor)
  const budget = budgetOf(governor, nowMs)
  return layOut(plan.total, {
    requestsPerHour: Math.max(1, budget.rateLimit.requestsPerHour),
    requestsLeft: Math.max(0, requestsFor(all, { kind: 'tail', agentId: '' }, nowMs)),
    sessionsLeft: Math.max(0, sessionsFor(all, 'tail', nowMs)),
    sessionsPerPeriod: Math.max(1, budget.quota.includedSessions - budget.reserveForNewSessions),
  })
}

const noun = (amount: Range, one: string): string =>
  `${range(amount)} ${amount.high === 1 && amount.low === 1 ? one : `${one}s`}`

/** Returns total and duration of a plan with windows, as far as its windows can be estimated. */
export function priceLines(priced: Priced, nowMs: number): string[] {
  const { total, unknown, windows } = priced.plan
  if (unknown === windows.length)
    return [
      'Total: unknown. The API cannot count conversations without billing them, so a range that has never been read cannot be estimated.',
    ]
  const parts = (['conversation', 'request', 'session'] as const).map(one => noun(total[`${one}s`], one))
  const rest = unknown > 0 ? `, and ${counted(unknown, 'window')} of unknown size` : ''
  const layout = layoutOf(priced, nowMs)
  const { low, high } = layout.periods
  const periods = high <= 1 ? 'this period' : `${range({ low, high })} billing periods`
  return [
    `Total: ${parts.join(', ')}${rest}.`,
    `Duration: ${layout.hours.high === 0 ? 'within this hour' : hours(layout.hours)}, ${periods}.`,
  ]
}

/** Returns the price of a sync that begins to read history, in one line; null for any other. */
export function historyPrice(priced: Priced, nowMs: number): string | null {
  const { windows, unknown } = priced.plan
  const begins = windows.some(
    ({ resumes, progress: { window } }) => !resumes && (window.kind === 'tail' || window.kind === 'full'),
  )
  if (!begins) return null
  const { sessionsLeft } = budgetOf(priced.governor, nowMs).quota
  const most = unknown > 0 ? [`At most ${counted(sessionsLeft, 'session')} are billed this period.`] : []
  return ['reading history.', ...priceLines(priced, nowMs), ...most].join(' ')
}

/** True if the plan exports and bills stored conversations again: a person must confirm it, regardless of the price. */
export const isBilledAgain = (plan: Plan): boolean =>
  plan.windows.some(({ progress, estimate }) => progress.window.kind === 'full' && (estimate?.sessions.high ?? 0) > 0)

/** True if a person must confirm the plan. */
export const needsConsent = (plan: Plan, includedSessions: number): boolean =>
  isBilledAgain(plan) || takesMostOfQuota(plan, includedSessions)

/** Refuses a plan that needs consent and has none. */
export const confirmationNeeded = (workspaceId: string, plan: Plan): ConvohouseError => {
  const again = isBilledAgain(plan)
  return new ConvohouseError('CONFIRMATION_NEEDED', {
    what: again
      ? `This sync of workspace ${workspaceId} exports stored conversations again, which bills ${rangeText(plan.total.sessions)} sessions again.`
      : `This sync of workspace ${workspaceId} may use most of the quota.`,
    // A full export needs consent regardless of its range, so the hint does not suggest --since.
    hint: `Run \`convohouse plan\` with the same flags, then confirm with --yes, or limit the sync with --max-sessions${again ? '' : ' or --since'}.`,
  })
}

/** True if history or a refresh may use most of the included sessions. */
export function takesMostOfQuota(plan: Plan, includedSessions: number): boolean {
  const refreshes = plan.windows.some(({ progress }) => progress.window.kind === 'refresh')
  return (plan.firstBackfills > 0 || refreshes) && plan.total.sessions.high > includedSessions / 2
}
