// Which plans a person must confirm, because of what they may bill.
import { ConvohouseError } from '../errors.ts'
import { rangeText } from './estimate.ts'
import type { Plan } from './planner.ts'

/** True where the plan exports and bills stored conversations again: a person must confirm it, whatever the price. */
export const isBilledAgain = (plan: Plan): boolean =>
  plan.windows.some(({ progress, estimate }) => progress.window.kind === 'full' && (estimate?.sessions.high ?? 0) > 0)

/** True where a person must confirm the plan. */
export const needsConsent = (plan: Plan, includedSessions: number): boolean =>
  isBilledAgain(plan) || takesMostOfQuota(plan, includedSessions)

/** Refuses a plan that needs consent and has none. */
export const confirmationNeeded = (workspaceId: string, plan: Plan): ConvohouseError => {
  const again = isBilledAgain(plan)
  return new ConvohouseError('CONFIRMATION_NEEDED', {
    what: again
      ? `This sync of workspace ${workspaceId} exports stored conversations again, which bills ${rangeText(plan.total.sessions)} sessions again.`
      : `This sync of workspace ${workspaceId} may use most of the quota.`,
    // A full export needs consent whatever its range, so the hint does not suggest --since.
    hint: `Run \`convohouse plan\` with the same flags, then confirm with --yes, or limit the sync with --max-sessions${again ? '' : ' or --since'}.`,
  })
}

/** True where history or a refresh may use most of the included sessions. */
export function takesMostOfQuota(plan: Plan, includedSessions: number): boolean {
  const refreshes = plan.windows.some(({ progress }) => progress.window.kind === 'refresh')
  return (plan.firstBackfills > 0 || refreshes) && plan.total.sessions.high > includedSessions / 2
}
