// Before a full export, and before a first backfill or a refresh that may take most of a period: asking a person, or refusing where there is none.
import type { Prepared } from '../../../workflows/steps.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { isBilledAgain, needsConsent } from '../../core/planner.ts'
import { range } from '../../core/words.ts'
import { planSummary } from '../plan/plan-text.ts'
import { log } from '../terminal/print.ts'
import { confirm } from '../terminal/prompt.ts'

export interface Consent {
  workspaceId: string
  prepared: Prepared
  /** Said beforehand: by `--yes`, or by a limit of sessions. */
  given: boolean
  interactive: boolean
  stopping: AbortSignal
}

const refusal = ({ workspaceId, prepared: { plan } }: Consent): ConvohouseError =>
  new ConvohouseError('CONFIRMATION_NEEDED', {
    what: isBilledAgain(plan)
      ? `This sync of workspace ${workspaceId} exports stored conversations again, which bills ${range(plan.total.sessions)} sessions again.`
      : `This sync of workspace ${workspaceId} may take most of a period's sessions.`,
    // A full export asks whatever its bounds are.
    hint: isBilledAgain(plan)
      ? 'Look at `convohouse plan` with the same flags, then say --yes, or limit it with --max-sessions.'
      : 'Look at `convohouse plan` with the same flags, then say --yes, or limit it with --max-sessions or --since.',
  })

/** True where the plan may be carried out. @throws CONFIRMATION_NEEDED, INTERRUPTED */
export async function askConsent(consent: Consent): Promise<boolean> {
  const { workspaceId, prepared, given, interactive, stopping } = consent
  const { plan, governor } = prepared
  const must = needsConsent(plan, governor.quota.includedSessions)
  const unpriced = plan.firstBackfills > 0 && plan.unknown > 0
  if (given || !(must || unpriced)) return true
  if (!interactive) {
    if (must) throw refusal(consent)
    return true
  }
  log(`Sync of workspace ${workspaceId}:`, ...planSummary({ workspaceId, prepared, nowMs: Date.now() }))
  const size = must ? 'It may take most of a period.' : 'Its size is unknown; it stops before overage.'
  const why = isBilledAgain(plan) ? 'It exports and bills stored conversations again.' : size
  const yes = await confirm(`${why} Begin?`, stopping)
  if (!yes) log('Nothing was bought.')
  return yes
}
