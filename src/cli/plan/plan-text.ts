// A plan for people: what would be read, what it would cost, and what is left to pay it with.
import type { Prepared } from '../../../workflows/steps.ts'
import { type Budget, budgetOf } from '../../core/budget.ts'
import { type Estimate, PERIOD_DAYS, type Range } from '../../core/estimate.ts'
import type { PlannedWindow } from '../../core/planner.ts'
import { DAY } from '../../core/time.ts'
import { isById } from '../../core/windows.ts'
import { count, counted, hours, range, utc } from '../../core/words.ts'
import { type GridOptions, grid } from '../terminal/grid.ts'
import { layoutOf } from './budget.ts'

export interface PlanFacts {
  workspaceId: string
  prepared: Prepared
  nowMs: number
}

const COLUMNS = [
  { name: 'agent' },
  { name: 'title' },
  { name: 'kind' },
  { name: 'from (UTC)' },
  { name: 'to (UTC)' },
  { name: 'state' },
  { name: 'conversations', right: true },
  { name: 'requests', right: true },
  { name: 'sessions', right: true },
]

const rangeOr = (estimate: Estimate | null, part: keyof Estimate): string =>
  estimate ? range(estimate[part]) : 'unknown'

function bounds({ window }: PlannedWindow['progress']): [string, string] {
  if (isById(window.kind)) return [counted(window.ids?.length ?? 0, 'id'), '']
  return [window.fromSec === null ? 'the beginning' : utc(window.fromSec * 1_000), utc(window.toSec * 1_000)]
}

function windowRow(
  { progress, resumes, estimate }: PlannedWindow,
  titles: ReadonlyMap<string, string | null>,
): string[] {
  const { agentId, kind } = progress.window
  const state = resumes ? `resumes after ${counted(progress.pages, 'page')}` : 'new'
  const prices = (['conversations', 'requests', 'sessions'] as const).map(part => rangeOr(estimate, part))
  return [agentId, titles.get(agentId) ?? '', kind, ...bounds(progress), state, ...prices]
}

/** `1,200 to 1,900 conversations`, with what cannot be priced said beside it. */
function totals({ plan }: Prepared): string {
  const { total, unknown, windows } = plan
  if (windows.length === 0) return 'Nothing to read: everything up to now is there.'
  if (unknown === windows.length)
    return `In all: unknown. There is no free count; what was never read cannot be priced.`
  const noun = (amount: Range, one: string) =>
    `${range(amount)} ${amount.high === 1 && amount.low === 1 ? one : `${one}s`}`
  const priced = [
    noun(total.conversations, 'conversation'),
    noun(total.requests, 'request'),
    noun(total.sessions, 'session'),
  ]
  const rest = unknown > 0 ? `, and ${counted(unknown, 'window')} of unknown size` : ''
  return `In all: ${priced.join(', ')}${rest}.`
}

function duration({ prepared, nowMs }: PlanFacts): string[] {
  const { plan } = prepared
  if (plan.windows.length === 0 || plan.unknown === plan.windows.length) return []
  const layout = layoutOf(prepared, nowMs)
  const { low, high } = layout.periods
  const periods = high <= 1 ? 'this period' : `${range({ low, high })} billing periods`
  return [`Takes: ${layout.hours.high === 0 ? 'fits into this hour' : hours(layout.hours)}, ${periods}.`]
}

/** What is left this hour and this period. */
export function budgetLines({ rateLimit, quota, reserveForNewSessions }: Budget, unknownAgents = 0): string[] {
  const requests = `${count(rateLimit.requestsLeft)} of ${counted(rateLimit.requestsPerHour, 'request')} this hour`
  const sessions = quota.known
    ? `${count(quota.sessionsLeft)} of ${counted(quota.allowedSessions, 'session')} this period`
    : `sessions unknown until the first answer (the document includes ${count(quota.includedSessions)} a period)`
  return [
    `Left: ${requests}; ${sessions}.`,
    unknownAgents === 0
      ? `Kept for new conversations: ${counted(reserveForNewSessions, 'session')} of the period.`
      : `Kept for new conversations at first: ${counted(reserveForNewSessions, 'session')} of the period; how many come a day is estimated again with each page of history.`,
  ]
}

/** What the reserve goes by: the vendor does not tell when a period turns. */
function periodLine({ plan, governor }: Prepared): string[] {
  if (!governor.quota.known) return []
  const { periodLengthMs } = plan
  return [
    periodLengthMs === null
      ? `How long a period lasts is not told; ${PERIOD_DAYS} days are assumed.`
      : `Periods so far lasted about ${counted(Math.round(periodLengthMs / DAY), 'day')}.`,
  ]
}

/** Totals, time and budget, without the windows one by one. */
export const planSummary = (facts: PlanFacts): string[] => [
  totals(facts.prepared),
  ...duration(facts),
  ...budgetLines(budgetOf(facts.prepared.governor, facts.nowMs), facts.prepared.plan.outlook?.unknownAgents),
  ...periodLine(facts.prepared),
  ...(facts.prepared.warnings ?? []).map(warning => `Warning: ${warning}`),
]

/** The whole plan. */
export function planLines(facts: PlanFacts, options: GridOptions = {}): string[] {
  const { agents, plan } = facts.prepared
  const titles = new Map(agents.map(({ agentId, title }) => [agentId, title]))
  const rows = plan.windows.map(window => windowRow(window, titles))
  const table = rows.length > 0 ? [...grid(COLUMNS, rows, options), ''] : []
  return [`Plan for workspace ${facts.workspaceId}`, '', ...table, ...planSummary(facts)]
}
