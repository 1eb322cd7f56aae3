// What a sync did, for people: what it brought, what it cost, what is left, and how to go on.
import type { SyncReport } from '../../../workflows/steps.ts'
import { reserveHint, reserveText } from '../../core/run-record.ts'
import { formatDuration } from '../../core/time.ts'
import { count, counted } from '../../core/words.ts'
import { visible } from '../output/table.ts'
import { failureLines } from '../terminal/error-text.ts'
import type { Progress } from './progress.ts'
import { eventsText } from './progress-text.ts'

export interface Reported {
  report: SyncReport
  progress: Progress
  nowMs: number
}

const HEADS: Record<SyncReport['outcome'], string> = {
  done: 'up to date',
  'hour-spent': "stopped, this hour's requests are spent",
  'period-spent': 'stopped, the sessions of the period are spent',
  'limit-reached': 'stopped at the limit that was given',
  preempted: 'stopped for now, to fetch new conversations',
  failed: 'failed',
  interrupted: 'stopped on request',
}

// The same command: a plain sync goes on with no full export, and with no ids.
const RESUME: Record<SyncReport['outcome'], string> = {
  done: '`convohouse sync` reads them.',
  'hour-spent': 'The same command goes on where it stopped, once the hour has passed.',
  'period-spent':
    'The same command goes on where it stopped, once the period has turned; --allow-overage-packs buys beyond it.',
  'limit-reached': 'The same command goes on where it stopped.',
  preempted: 'The next round goes on where this one stopped.',
  failed: 'The same command goes on where it stopped, once that is mended.',
  interrupted: 'The same command goes on where it stopped; nothing is lost.',
}

const headOf = ({ outcome, reserve }: SyncReport): string =>
  outcome === 'period-spent' && reserve ? `stopped, ${reserveText(reserve)}` : HEADS[outcome]

const resumeOf = ({ outcome, reserve }: SyncReport): string =>
  outcome === 'period-spent' && reserve ? reserveHint(reserve) : RESUME[outcome]

function spent({ budget }: Progress): string[] {
  if (budget === null || !budget.quota.known) return []
  const { quota, rateLimit } = budget
  const sessions = `${count(quota.sessionsLeft)} of ${counted(quota.allowedSessions, 'session')} left this period`
  return [`  ${sessions}, ${counted(rateLimit.requestsLeft, 'request')} left this hour`]
}

function webhooks({ events }: Progress): string[] {
  return events ? [`  webhooks: ${eventsText(events)}`] : []
}

function breaches(pages: number): string[] {
  if (pages === 0) return []
  return [`  ${counted(pages, 'page')} billed more sessions than was thought: the reserve took it`]
}

function lost({ lostAnswers, lostSessions }: SyncReport): string[] {
  if (lostAnswers === 0) return []
  return [
    `  ${counted(lostAnswers, 'answer')} never came whole, and may have billed up to ${counted(lostSessions, 'session')} more`,
  ]
}

function gone(agents: string[]): string[] {
  if (agents.length === 0) return []
  return [
    `  the vendor knows ${agents.length === 1 ? 'this agent' : 'these agents'} no more: ${agents.map(visible).join(', ')}`,
  ]
}

const unanswered = ({ unanswered: failure }: SyncReport): string[] =>
  failure ? failureLines(failure).map(line => `  ${line}`) : []

const warned = ({ warnings = [] }: SyncReport): string[] => warnings.map(warning => `  warning: ${warning}`)

function left(report: SyncReport): string[] {
  const { outcome, windowsLeft } = report
  if (windowsLeft === 0 && outcome === 'done') return []
  const windows = windowsLeft > 0 ? `${counted(windowsLeft, 'window')} left. ` : ''
  return [`  ${windows}${resumeOf(report)}`]
}

/** The summary of a sync. */
export function reportLines(name: string, { report, progress, nowMs }: Reported): string[] {
  const { pages, conversations, requests, sessions } = report
  const after = progress.startedMs === null ? '' : `, after ${formatDuration(nowMs - progress.startedMs)}`
  return [
    `${name}: ${headOf(report)}${report.warnings ? ', with a warning' : ''}${after}`,
    `  ${counted(conversations, 'conversation')} in ${counted(pages, 'page')}, ${counted(requests, 'request')}, ${counted(sessions, 'session')} billed`,
    ...spent(progress),
    ...webhooks(progress),
    ...breaches(report.breaches),
    ...lost(report),
    ...gone(report.agentsGone),
    ...unanswered(report),
    ...warned(report),
    ...left(report),
  ]
}
