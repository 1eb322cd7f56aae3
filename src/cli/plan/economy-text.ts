// Exports that wait or are saved, as text.
import { DECIDING, type MeasuredRefreshes } from '../../core/planning/refresh-rule.ts'
import { count, counted } from '../../core/words.ts'

/** `refreshes without a new message changed 3 of 412 conversations; skipping them saves about 880 sessions a month` */
function measuredText({ measured, changed, skips, savedSessions }: MeasuredRefreshes): string {
  const saves = `skipping them saves about ${counted(savedSessions, 'session')} a month`
  const until = `they are skipped once at most one of the last ${DECIDING} finds a change`
  return `refreshes without a new message changed ${count(changed)} of ${counted(measured, 'conversation')}; ${skips ? saves : until}`
}

/** How many conversations wait for their first export, and what refreshes have found. */
export const economyTexts = (of: { active?: number; measured?: MeasuredRefreshes | null }): string[] => [
  ...(of.active
    ? [
        `${counted(of.active, 'new conversation waits', 'new conversations wait')} until quiet for an hour, six hours at most`,
      ]
    : []),
  ...(of.measured ? [measuredText(of.measured)] : []),
]
