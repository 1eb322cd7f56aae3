// Before a first backfill, or a refresh, that may take most of a period: asking a person, or refusing where there is none.
import type { Prepared } from '../../../workflows/steps.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { takesMostOfPeriod } from '../../core/planner.ts'
import { planSummary } from '../plan/plan-text.ts'
import { confirm } from '../terminal/prompt.ts'
import { remark } from '../terminal/say.ts'

export interface Consent {
  workspaceId: string
  prepared: Prepared
  /** Said beforehand: by `--yes`, or by a limit of sessions. */
  given: boolean
  interactive: boolean
  stopping: AbortSignal
}

const refusal = (workspaceId: string): ConvohouseError =>
  new ConvohouseError('CONFIRMATION_NEEDED', {
    what: `This sync of workspace ${workspaceId} may take most of a period's sessions.`,
    mend: 'Look at `convohouse plan`, then say --yes, or limit it with --max-sessions or --since.',
  })

/** True where the plan may be carried out. @throws CONFIRMATION_NEEDED, INTERRUPTED */
export async function mayBegin({ workspaceId, prepared, given, interactive, stopping }: Consent): Promise<boolean> {
  const { plan, governor } = prepared
  const most = takesMostOfPeriod(plan, governor.period.includedSessions)
  const unpriced = plan.firstBackfills > 0 && plan.unknown > 0
  if (given || !(most || unpriced)) return true
  if (!interactive) {
    if (most) throw refusal(workspaceId)
    return true
  }
  remark(`Sync of workspace ${workspaceId}:`, ...planSummary({ workspaceId, prepared, nowMs: Date.now() }))
  const size = most ? 'It may take most of a period.' : 'Its size is unknown; it stops before overage.'
  const yes = await confirm(`${size} Begin?`, stopping)
  if (!yes) remark('Nothing was bought.')
  return yes
}
