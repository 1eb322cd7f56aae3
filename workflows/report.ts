// The report of a sync: its counts, its outcome, and warnings for people.

import { unlimited } from '../src/core/governor/budget.ts'
import { isUrgent } from '../src/core/governor/fair-share.ts'
import { pageSessions } from '../src/core/governor/page-size.ts'
import { sessionsFor } from '../src/core/governor/session-budget.ts'
import { sessionsLeft } from '../src/core/quota/quota.ts'
import type { Reserve } from '../src/core/run-record.ts'
import { agreeing, counted } from '../src/core/words.ts'
import type { Run } from './run.ts'
import type { Finished, SyncReport } from './steps.ts'

export const emptyReport = (run: string): SyncReport => ({
  run,
  outcome: 'done',
  requests: 0,
  sessions: 0,
  pages: 0,
  conversations: 0,
  windowsDone: 0,
  windowsLeft: 0,
  breaches: 0,
  lostAnswers: 0,
  lostSessions: 0,
  agentsGone: [],
  failures: [],
})

/** Returns the report of a run whose loops have ended. */
export function finalReport(run: Run): SyncReport {
  const { report, governor, queue } = run
  if (report.outcome === 'done' && report.failures.length > 0) report.outcome = 'failed'
  const reserve = reserveOf(run)
  const { maxSessions } = governor.options
  if (maxSessions !== null && governor.spent.sessions > maxSessions)
    warn(
      report,
      `${maxSessions} sessions allowed, ${governor.spent.sessions} billed: an answer had more conversations, or one had more sessions, than could be foreseen`,
    )
  const unanswered = run.failing > 0 && report.failures.length === 0 ? run.unanswered : null
  return {
    ...report,
    requests: governor.spent.requests,
    sessions: governor.spent.sessions,
    windowsLeft: report.windowsLeft + queue.waiting.length,
    breaches: governor.breaches,
    lostAnswers: governor.lost.answers,
    lostSessions: governor.lost.sessions,
    ...(reserve && { reserve }),
    ...(unanswered && { unanswered }),
    ...(queue.waiting.some(isUrgent) && { newLeft: true as const }),
  }
}

/** Returns the remaining sessions that history may not use because they are reserved for new conversations; null if there are none. */
function reserveOf({ governor, host, report }: Run): Reserve | null {
  const { options, quota } = governor
  if (report.outcome !== 'period-spent' || options.headReserveShare === 0) return null
  if (sessionsFor(unlimited(governor), 'head', host.now()) < pageSessions({ agents: [] }, '', 1)) return null
  return { sessions: sessionsLeft(quota, options.allowedPacks), share: options.headReserveShare }
}

/** Adds the results of the last step (`finish`) to the report. */
export function addFinished(
  report: SyncReport,
  {
    quarantined,
    refused,
    unnamed,
    upkeep,
    checks = [],
    models = [],
    windowsUnfinished,
    active,
    unusable,
    unverified,
    gaps,
  }: Finished,
): void {
  const add = (warning: string): void => warn(report, warning)
  if (gaps) report.gaps = gaps
  if (active) report.active = active
  if (unusable) report.unusable = unusable
  if (unverified) report.unverified = unverified
  // A run that stopped early has counted its windows itself, since they may not be loaded yet.
  if (report.outcome === 'done') report.windowsLeft = Math.max(report.windowsLeft, windowsUnfinished)
  if (quarantined) {
    report.quarantined = quarantined
    add(
      `${counted(quarantined, 'record')} could not be loaded and ${agreeing(quarantined, 'is', 'are')} quarantined: \`convohouse quarantine list\` shows which, and why`,
    )
  }
  if (unnamed)
    add(
      `some other resources (organizations, teams, tools, …) could not be requested: ${unnamed.code}: ${unnamed.what}`,
    )
  if (upkeep) add(`upkeep of the data folder failed and is tried again: ${upkeep.code}: ${upkeep.what}`)
  for (const { name, outcome } of checks)
    add(`the check ${name} ${outcome === 'failed' ? 'fails' : 'cannot run'}: \`convohouse check ${name}\` shows why`)
  if (models.length > 0)
    add(
      `${agreeing(models.length, 'the model', 'the models')} ${models.join(', ')} could not be built: \`convohouse status\` shows why`,
    )
  if (refused) {
    report.webhooksRefused = refused
    add(
      `${counted(refused, 'webhook event')} ${agreeing(refused, 'was', 'were')} refused since the previous sync, and the vendor will not send ${agreeing(refused, 'it', 'them')} again: \`convohouse status\` shows why`,
    )
  }
}

function warn(report: SyncReport, warning: string): void {
  report.warnings = [...(report.warnings ?? []), warning]
}
