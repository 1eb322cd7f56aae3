// Sessions that may be leased. New conversations may use all sessions left of the quota, history only those beyond the reserve for new
// conversations. Subtracted are the sessions of open leases and, per lease, a reserve in case a page bills more than expected.
import { headReserve, type Outlook } from '../planning/estimate.ts'
import type { WindowKind } from '../planning/windows.ts'
import { PACK_SESSIONS, possiblyUsed, type QuotaState, sessionsLeft } from '../quota/quota.ts'

/** Share of the included sessions held back in case a page bills more than expected. */
const SURPRISE_SHARE = 0.001
const MIN_SURPRISE_SESSIONS = 4
const MARGIN = 1.2
/** Page sizes to choose from; few, because each change of the size begins a new generation. */
const PAGE_SIZES = [100, 50, 20, 10, 5, 2, 1]
/** A generation of small pages is ended for a larger size once this many pages of that size fit. */
const GROWTH_FACTOR = 4

/** The part of the governor's state that decides how many sessions may be leased. */
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
  leases: readonly { agentId: string; sessions: number; billed: number }[]
  spent: { sessions: number }
  lost: { sessions: number }
  sessionsPerConversation: number
}

export const surpriseReserve = (includedSessions: number): number =>
  Math.max(MIN_SURPRISE_SESSIONS, Math.ceil(includedSessions * SURPRISE_SHARE))

const outstandingSessions = (state: SessionBudget): number =>
  state.leases.reduce((sum, lease) => sum + Math.max(0, lease.sessions - lease.billed), 0)

/** Sessions that the run may still spend, after subtracting what lost answers may have billed and the reserve for one page. */
export const runSessions = ({ options, spent, lost }: SessionBudget): number =>
  options.maxSessions === null
    ? Number.POSITIVE_INFINITY
    : options.maxSessions - spent.sessions - lost.sessions - MIN_SURPRISE_SESSIONS

/** Kinds that may not use the reserve for new conversations: all but new conversations and conversations that a person named. */
const YIELDS_TO_HEAD: ReadonlySet<WindowKind> = new Set(['tail', 'full', 'reread', 'refresh', 'sample'])

/** Age of the period, ms; null: not known. */
const ageOf = ({ sinceMs = null }: QuotaState, nowMs: number): number | null =>
  sinceMs === null ? null : Math.max(0, nowMs - sinceMs)

/** Sessions reserved for new conversations. */
function sessionReserve({ options, quota, outlook, leases }: SessionBudget, nowMs: number): number {
  const begun = outlook.learned.filter(
    ({ agentId, perDay }) => perDay === null && leases.some(lease => lease.agentId === agentId),
  )
  return headReserve({
    outlook,
    begun: begun.length,
    ageMs: ageOf(quota, nowMs),
    includedSessions: quota.includedSessions,
    share: options.headReserveShare,
  })
}

/** Unused sessions of packs that a person allowed for history; they are part of no reserve. */
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

/** Sessions that a window of that kind may still lease. */
export function sessionsFor(state: SessionBudget, kind: WindowKind, nowMs: number): number {
  const { options, quota } = state
  const surprise = surpriseReserve(quota.includedSessions)
  const left = sessionsLeft(quota, options.allowedPacks)
  const forKind = YIELDS_TO_HEAD.has(kind)
    ? Math.min(left, Math.max(left - sessionReserve(state, nowMs), packsForHistory(state)))
    : left
  const exporting = state.leases.filter(lease => lease.sessions > 0).length
  const run = runSessions(state) - exporting * MIN_SURPRISE_SESSIONS
  return Math.floor(Math.min(forKind - (exporting + 1) * surprise, run) - outstandingSessions(state))
}

/** Share of the sessions left that the first pages of all agents without a known rate may use together. */
const LEARNING_SHARE = 0.25

/**
 * Sessions for the first page of history of an agent without a known rate: a part of all that are left, with those reserved for the new
 * conversations of others, because this page shows how many the agent needs itself. Null for all other pages.
 */
export function learningSessions(
  state: SessionBudget,
  agentId: string,
  kind: WindowKind,
  nowMs: number,
): number | null {
  const unread = state.outlook.learned.filter(({ perDay }) => perDay === null)
  const isFirst = (kind === 'tail' || kind === 'full') && unread.some(agent => agent.agentId === agentId)
  if (state.options.headReserveShare !== null || !isFirst) return null
  const left = sessionsFor(state, 'head', nowMs)
  return Math.min(left, Math.max(pageSessions(state, 1), (left * LEARNING_SHARE) / unread.length))
}

export const pageSessions = (state: SessionBudget, limit: number): number =>
  Math.ceil(limit * Math.max(1, state.sessionsPerConversation * (limit > 1 ? MARGIN : 1)))

/** The page size that fits into `sessions`; undefined: none. A running generation keeps its size, unless larger pages fit again. */
export function pageSize(
  state: SessionBudget,
  sessions: number,
  largest: number,
  running: number | null,
): number | undefined {
  const fitting = (factor: number) =>
    [largest, ...PAGE_SIZES].find(limit => limit <= largest && pageSessions(state, limit) * factor <= sessions)
  const larger = fitting(GROWTH_FACTOR)
  const runs = running !== null && running <= largest && pageSessions(state, running) <= sessions
  return runs && running >= (larger ?? 0) ? running : runs && larger ? larger : fitting(1)
}

/** Sessions that open leases other than `lease` may have billed. */
export function unseenSessions(
  { leases, quota }: SessionBudget,
  lease: SessionBudget['leases'][number] | undefined,
): number {
  const exporting = leases.filter(held => held !== lease && held.sessions > 0)
  const held = exporting.reduce((sum, { sessions, billed }) => sum + Math.max(0, sessions - billed), 0)
  return held + exporting.length * surpriseReserve(quota.includedSessions)
}
