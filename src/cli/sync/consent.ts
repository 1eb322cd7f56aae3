// Asks for consent before a full export, and before a backfill or refresh that may use most of the quota; refuses without a terminal.

import { createInterface } from 'node:readline/promises'
import type { Prepared } from '../../../workflows/steps.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { confirmationNeeded, isBilledAgain, needsConsent } from '../../core/planning/planner.ts'
import { planSummary } from '../plan/plan.ts'
import { log } from '../terminal/print.ts'
import { isTerminal } from '../terminal/style.ts'

interface Consent {
  workspaceId: string
  prepared: Prepared
  /** Consent was given by a flag: `--yes` or a session limit. */
  given: boolean
  interactive: boolean
  stopping: AbortSignal
}

/** True if the plan may be executed. @throws CONFIRMATION_NEEDED, INTERRUPTED */
export async function askConsent(consent: Consent): Promise<boolean> {
  const { workspaceId, prepared, given, interactive, stopping } = consent
  const { plan, governor } = prepared
  const must = needsConsent(plan, governor.quota.includedSessions)
  const unpriced = plan.firstBackfills > 0 && plan.unknown > 0
  if (given || !(must || unpriced)) return true
  if (!interactive) {
    if (must) throw confirmationNeeded(workspaceId, plan)
    return true
  }
  log(`Sync of workspace ${workspaceId}:`, ...planSummary({ workspaceId, prepared, nowMs: Date.now() }))
  const size = must ? 'It may use most of the quota.' : 'Its size is unknown; it stops before overage.'
  const why = isBilledAgain(plan) ? 'It exports and bills stored conversations again.' : size
  const yes = await confirm(`${why} Start?`, stopping)
  if (!yes) log('No session was billed.')
  return yes
}

/** True if a person can read a question and answer it. */
export const isInteractive = (): boolean => isTerminal(process.stdin) && isTerminal(process.stderr)

/** Returns true only for `y` or `yes`. @throws INTERRUPTED if the signal comes first */
async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  // With `terminal: true`, readline would intercept Ctrl-C.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    const ended = new Promise<string>(resolve => lines.once('close', () => resolve('')))
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended])
    return /^y(es)?$/i.test(answer.trim())
  } catch (cause) {
    throw new ConvohouseError('INTERRUPTED', { what: 'Stopped before the sync started; no session was billed.', cause })
  } finally {
    lines.close()
  }
}
