// The report of a sync as text (results, cost, what is left, how to continue), and its exit code (docs/errors.md).

import type { SyncReport } from '../../../workflows/steps.ts'
import { ERRORS, EXIT_CODES } from '../../core/errors.ts'
import { isUpToDate } from '../../core/planning/gaps.ts'
import { outcomeText, reserveHint, reserveText } from '../../core/run-record.ts'
import { formatDuration } from '../../core/time.ts'
import { agreeing, count, counted } from '../../core/words.ts'
import { visible } from '../terminal/controls.ts'
import { failureLines } from '../terminal/error-text.ts'
import { economyTexts, gapLines, quotaNotes } from '../terminal/notes.ts'
import { linesIf } from '../terminal/print.ts'
import type { Progress } from './progress.ts'
import { eventsText } from './progress-text.ts'

interface Reported {
  report: SyncReport
  progress: Progress
  nowMs: number
}

// The hints say "the same command", since a plain `sync` continues neither a full export nor a list of ids.
const RESUME: Record<SyncReport['outcome'], string> = {
  done: '`convohouse sync` reads them.',
  'hour-spent': 'The same command continues where it stopped, once the hour has passed.',
  'period-spent':
    'The same command continues where it stopped in the next billing period; --allow-overage-packs allows sessions beyond the quota.',
  'limit-reached': 'The same command continues where it stopped.',
  preempted: 'The next round continues where this one stopped.',
  failed: 'The same command continues where it stopped, once the error is fixed.',
  interrupted: 'The same command continues where it stopped; nothing is lost.',
}

function headOf(report: SyncReport): string {
  const { outcome, reserve } = report
  if (outcome === 'period-spent' && reserve) return `stopped: ${reserveText(reserve)}`
  if (outcome !== 'done') return outcomeText(outcome)
  return isUpToDate(report, report.gaps) ? 'up to date' : 'ended, but not everything is stored'
}

const resumeOf = ({ outcome, reserve }: SyncReport): string =>
  outcome === 'period-spent' && reserve ? reserveHint(reserve) : RESUME[outcome]

function spent({ budget }: Progress): string[] {
  if (budget === null || !budget.quota.known) return []
  const { quota, rateLimit } = budget
  const sessions = `${count(quota.sessionsLeft)} of ${counted(quota.allowedSessions, 'session')} left this period`
  return [`  ${sessions}, ${counted(rateLimit.requestsLeft, 'request')} left this hour${quotaNotes(quota)}`]
}

const lost = ({ lostAnswers, lostSessions }: SyncReport): string =>
  `  ${counted(lostAnswers, 'answer')} failed or did not arrive completely and may have billed up to ${counted(lostSessions, 'session')} more`

const gone = (agents: readonly string[]): string =>
  `  the vendor no longer knows ${agreeing(agents.length, 'this agent', 'these agents')}: ${agents.map(visible).join(', ')}; asked again after an hour, then at growing intervals`

const unusable = (records: number): string =>
  `  ${counted(records, 'conversation record')} cannot be stored: \`convohouse quarantine list\` shows which, and why`

const unanswered = ({ unanswered: failure }: SyncReport): string[] =>
  failure ? failureLines(failure).map(line => `  ${line}`) : []

function left(report: SyncReport): string[] {
  const { outcome, windowsLeft } = report
  if (windowsLeft === 0 && outcome === 'done') return []
  const windows = windowsLeft > 0 ? `${counted(windowsLeft, 'window')} left. ` : ''
  return [`  ${windows}${resumeOf(report)}`]
}

/** Returns the summary of a sync. */
export function reportLines(name: string, { report, progress, nowMs }: Reported): string[] {
  const { pages, conversations, requests, sessions, skipped = 0, warnings = [], unusable: records = 0 } = report
  const after = progress.startedMs === null ? '' : `, after ${formatDuration(nowMs - progress.startedMs)}`
  return [
    `${name}: ${headOf(report)}${report.warnings ? ', with a warning' : ''}${after}`,
    `  ${counted(conversations, 'conversation')} in ${counted(pages, 'page')}, ${counted(requests, 'request')}, ${counted(sessions, 'session')} billed`,
    ...linesIf(skipped > 0, `  ${counted(skipped, 'conversation')} skipped, since no person had written: not billed`),
    ...spent(progress),
    ...(progress.events ? [`  webhooks: ${eventsText(progress.events)}`] : []),
    ...linesIf(
      report.breaches > 0,
      `  ${counted(report.breaches, 'page')} billed more sessions than expected: nothing to do, the figures include them`,
    ),
    ...linesIf(report.lostAnswers > 0, lost(report)),
    ...linesIf(report.agentsGone.length > 0, gone(report.agentsGone)),
    ...unanswered(report),
    ...[...economyTexts(report), ...gapLines(report.gaps, report.unverified)].map(line => `  ${line}`),
    ...linesIf(records > 0, unusable(records)),
    ...warnings.map(warning => `  warning: ${warning}`),
    ...left(report),
  ]
}

const CODES: Record<Exclude<SyncReport['outcome'], 'failed'>, number> = {
  done: EXIT_CODES.ok,
  'limit-reached': EXIT_CODES.ok,
  preempted: EXIT_CODES.ok,
  'hour-spent': EXIT_CODES.hourSpent,
  'period-spent': EXIT_CODES.periodSpent,
  interrupted: EXIT_CODES.interrupted,
}

/** Returns the exit code of a report; for a failed sync, the exit code of its first failure. */
export function exitCodeOfReport({ outcome, failures }: SyncReport): number {
  if (outcome !== 'failed') return CODES[outcome]
  const [first] = failures
  return first ? ERRORS[first.code].exitCode : EXIT_CODES.unexpected
}

/** Returns the exit code of several syncs: 130 if any was stopped on request, else the first that is not 0. */
export function exitCodeOfAll(codes: readonly number[]): number {
  if (codes.includes(EXIT_CODES.interrupted)) return EXIT_CODES.interrupted
  return codes.find(code => code !== EXIT_CODES.ok) ?? EXIT_CODES.ok
}
