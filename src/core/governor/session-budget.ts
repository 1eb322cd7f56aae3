// Sessions that may be leased. New conversations may use all sessions left of the quota, history only those beyond the reserve for
// new conversations. The sessions of open leases are subtracted, with a reserve per lease in case a page bills more than expected.
import { headReserve, type Outlook } from '../planning/estimate.ts'
import type { WindowKind } from '../planning/windows.ts'
import { PACK_SESSIONS, possiblyUsed, type QuotaState, sessionsLeft } from '../quota/quota.ts'
import { type AgentBills, MIN_SURPRISE_SESSIONS, pageSessions, surpriseReserve } from './page-size.ts'

/** The part of the governor's state that determines how many sessions may be leased. */
interface SessionBudget {
  options: {
    headReserveShare: number | null
    allowedPacks: number
    packsForHistory?: boolean
    maxSessions: number | null
  }
  quota: QuotaState
  outlook: Outlook
  packsFrom?: { key: string | null; sessions: number } | null
  leases: readonly { agentId: string; sessions: number; billed: number; pageSessions: number }[]
  spent: { sessions: number }
  lost: { sessions: number }
  agents: readonly AgentBills[]
}

const outstandingSessions = (state: SessionBudget): number =>
  state.leases.reduce((sum, lease) => sum + Math.max(0, lease.sessions - lease.billed), 0)

/** Returns the sessions of the run's limit reserved for surprising bills; small limits have none. */
const runSurprise = (maxSessions: number): number => Math.min(MIN_SURPRISE_SESSIONS, Math.floor(maxSessions / 25))

/** Returns the sessions that the run may still spend, minus those that lost answers may have billed and the reserve for one page. */
export const runSessions = ({ options, spent, lost }: SessionBudget): number =>
  options.maxSessions === null
    ? Number.POSITIVE_INFINITY
    : options.maxSessions - spent.sessions - lost.sessions - runSurprise(options.maxSessions)

/** Kinds that may not use the reserve for new conversations: all but new conversations and those that a person named. */
const YIELDS_TO_HEAD: ReadonlySet<WindowKind> = new Set(['tail', 'full', 'reread', 'refresh', 'sample'])

/** Returns the sessions reserved for new conversations. */
function sessionReserve({ options, quota, outlook, leases }: SessionBudget, nowMs: number): number {
  const begun = outlook.learned.filter(
    ({ agentId, perDay }) => perDay === null && leases.some(lease => lease.agentId === agentId),
  )
  const { includedSessions, sinceMs = null } = quota
  const ageMs = sinceMs === null ? null : Math.max(0, nowMs - sinceMs)
  return headReserve({ outlook, begun: begun.length, ageMs, includedSessions, share: options.headReserveShare })
}

/** Returns the unused sessions of packs that a person allowed for history; no reserve includes them. */
function packsForHistory({ options, quota, packsFrom }: SessionBudget): number {
  if (!packsFrom || packsFrom.key !== quota.key) return Number.NEGATIVE_INFINITY
  return (
    packsFrom.sessions + options.allowedPacks * PACK_SESSIONS - possiblyUsed(quota) - (quota.pending?.sessions ?? 0)
  )
}

/** Records the usage at which packs were allowed for history. */
export function withPacks<S extends SessionBudget>(state: S): S {
  const { options, quota, packsFrom } = state
  if (!options.packsForHistory || options.allowedPacks === 0 || !quota.known) return state
  if (packsFrom && packsFrom.key === quota.key) return state
  return { ...state, packsFrom: { key: quota.key, sessions: possiblyUsed(quota) } }
}

/** Returns the sessions that a window of that kind may still lease. */
export function sessionsFor(state: SessionBudget, kind: WindowKind, nowMs: number): number {
  const { options, quota } = state
  const left = sessionsLeft(quota, options.allowedPacks)
  const forKind = YIELDS_TO_HEAD.has(kind)
    ? Math.min(left, Math.max(left - sessionReserve(state, nowMs), packsForHistory(state)))
    : left
  const exporting = state.leases.filter(lease => lease.sessions > 0)
  const surprises = exporting.reduce((sum, held) => sum + surpriseReserve(quota.includedSessions, held.pageSessions), 0)
  const run = runSessions(state) - exporting.length * runSurprise(options.maxSessions ?? 0)
  return Math.floor(Math.min(forKind - surprises - MIN_SURPRISE_SESSIONS, run) - outstandingSessions(state))
}

/** Share of the sessions left that the first pages of all agents without a known rate may use together. */
const LEARNING_SHARE = 0.5

/**
 * Returns the sessions for the first page of history of an agent without a known rate: a part of all that are `left`, including
 * those reserved for new conversations of others, because this page shows the agent's own need. Null for all other pages.
 */
export function learningSessions(
  state: SessionBudget,
  { agentId, kind }: { agentId: string; kind: WindowKind },
  left: number,
): number | null {
  const unread = state.outlook.learned.filter(({ perDay }) => perDay === null)
  const isFirst = (kind === 'tail' || kind === 'full') && unread.some(agent => agent.agentId === agentId)
  if (state.options.headReserveShare !== null || !isFirst) return null
  return Math.min(left, Math.max(pageSessions(state, agentId, 1), (left * LEARNING_SHARE) / unread.length))
}

/** Returns the sessions that open leases other than `lease` may have billed. */
export function unseenSessions(
  { leases, quota }: SessionBudget,
  lease: SessionBudget['leases'][number] | undefined,
): number {
  const exporting = leases.filter(held => held !== lease && held.sessions > 0)
  return exporting.reduce(
    (sum, { sessions, billed, pageSessions: page }) =>
      sum + Math.max(0, sessions - billed) + surpriseReserve(quota.includedSessions, page),
    0,
  )
}
