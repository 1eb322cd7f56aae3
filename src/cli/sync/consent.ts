// Asks for consent before a full export, and before a backfill or refresh that may use most of the quota; refuses without a terminal.

import type { Prepared } from '../../../workflows/steps.ts'
import { confirmationNeeded, isBilledAgain, needsConsent } from '../../core/planning/consent.ts'
import { historyPrice } from '../../core/planning/price-text.ts'
import { planSummary } from '../plan/plan.ts'
import { confirm } from '../terminal/confirm.ts'
import { log } from '../terminal/print.ts'

interface Consent {
  workspaceId: string
  prepared: Prepared
  /** Counts the requests for other API resources. */
  resourceRequests: () => Promise<number>
  /** Consent was given by a flag: `--yes` or a session limit. */
  given: boolean
  interactive: boolean
  /** The output is for machines. */
  json: boolean
  stopping: AbortSignal
}

/** True if the plan may be executed. Prints the price of history, whether or not it asks. @throws CONFIRMATION_NEEDED, INTERRUPTED */
export async function askConsent(consent: Consent): Promise<boolean> {
  const { workspaceId, prepared, given, interactive, json, stopping } = consent
  const { plan, governor } = prepared
  const must = needsConsent(plan, governor.quota.includedSessions)
  const unpriced = plan.firstBackfills > 0 && plan.unknown > 0
  if (must && !given && !interactive) throw confirmationNeeded(workspaceId, plan)
  if (given || !interactive || !(must || unpriced)) {
    const price = json ? null : historyPrice(prepared, Date.now())
    if (price) log(`${workspaceId}: ${price}`)
    return true
  }
  const facts = { workspaceId, prepared, resourceRequests: await consent.resourceRequests(), nowMs: Date.now() }
  log(`Sync of workspace ${workspaceId}:`, ...planSummary(facts))
  const size = must ? 'It may use most of the quota.' : 'Its size is unknown; it stops before overage.'
  const why = isBilledAgain(plan) ? 'It exports and bills stored conversations again.' : size
  const stopped = 'Stopped before the sync started; no session was billed.'
  const yes = await confirm(`${why} Start?`, { signal: stopping, stopped })
  if (!yes) log('No session was billed.')
  return yes
}
