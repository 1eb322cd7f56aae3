// Determines how many conversations to request. Far from a limit, a page counts with the agent's mean number of sessions per conversation.
// Close to a limit it counts as if each conversation had the maximum seen before for that agent, so only an unseen number can exceed it.
import type { Density } from '../planning/estimate.ts'
import { parseCount } from '../quota/reported-usage.ts'

/** Sessions billed for an agent's conversations so far, and the maximum seen in one of them. */
export interface AgentBills {
  agentId: string
  returned: number
  billed: number
  most: number
}

/** Sessions per conversation: assumed for an agent without bills; the lowest mean for fewer than ten conversations. */
const ASSUMED_MOST = 5
const LOWEST_MEAN = 1.25
const MARGIN = 1.2
/** Available page sizes. They are few, because each change of the size begins a new generation. */
const PAGE_SIZES = [100, 50, 20, 10, 5, 2, 1]
/** A generation of small pages is ended for a larger size once this many pages of that size fit. */
const GROWTH_FACTOR = 4
/** Largest page of an agent without bills in a run with a session limit. */
const FIRST_PAGE = 5
/** Share of the included sessions that is reserved in case a page bills more than its records show. */
const SURPRISE_SHARE = 0.001
export const MIN_SURPRISE_SESSIONS = 4

/** Returns the sessions reserved for surprising bills: a third of the page, within a share of the included sessions. */
export const surpriseReserve = (includedSessions: number, page = Number.POSITIVE_INFINITY): number =>
  Math.max(MIN_SURPRISE_SESSIONS, Math.ceil(Math.min(includedSessions * SURPRISE_SHARE, page / 3)))

const billsOf = (agents: readonly AgentBills[], agentId: string): AgentBills | undefined =>
  agents.find(agent => agent.agentId === agentId)

/** Adds a page to the bills of its agent. `mostSessions` is the maximum in its records; the bill shows at least the mean. */
export function withPage(
  agents: readonly AgentBills[],
  agentId: string,
  { returned, billed, mostSessions }: { returned: number; billed: number; mostSessions?: unknown },
): readonly AgentBills[] {
  if (returned === 0) return agents
  const known = billsOf(agents, agentId) ?? { agentId, returned: 0, billed: 0, most: 1 }
  const shown = Math.min(billed, parseCount(mostSessions) ?? 0)
  const most = Math.max(known.most, shown, Math.ceil(billed / returned))
  const bills = { agentId, returned: known.returned + returned, billed: known.billed + billed, most }
  return [...agents.filter(agent => agent !== known), bills]
}

/** Returns the bills of an agent according to its stored conversations. */
export const storedBills = ([agentId, density]: readonly [string, Density]): AgentBills => ({
  agentId,
  returned: 100,
  billed: 100 * density.sessionsPerConversation,
  most: density.mostSessions,
})

/** Returns the sessions that a page of that agent is expected to bill. */
export function pageSessions({ agents }: { agents: readonly AgentBills[] }, agentId: string, limit: number): number {
  const bills = billsOf(agents, agentId)
  if (!bills) return limit > 1 ? limit * ASSUMED_MOST : Math.ceil(LOWEST_MEAN)
  const mean = Math.max(bills.returned < 10 ? LOWEST_MEAN : 1, bills.billed / bills.returned)
  return Math.ceil(limit * mean * (limit > 1 ? MARGIN : 1))
}

/**
 * Returns the page size that fits into `sessions`, and the sessions of that page; undefined if none fits. `left`:
 * sessions up to the closest limit. A running generation keeps its size, unless larger pages fit again.
 */
export function pageSize(
  state: {
    agents: readonly AgentBills[]
    options: { maxSessions: number | null }
    quota: { includedSessions: number }
  },
  asked: { agentId: string; sessions: number; left: number; largest: number; running: number | null },
): { limit: number; held: number } | undefined {
  const { agentId, sessions, running } = asked
  const bills = billsOf(state.agents, agentId)
  const most = bills?.most ?? ASSUMED_MOST
  const isClose = asked.left < 2 * (pageSessions(state, agentId, asked.largest) + most)
  const largest = bills || state.options.maxSessions === null ? asked.largest : Math.min(asked.largest, FIRST_PAGE)
  const held = (limit: number) => (isClose && limit > 1 ? limit * most : pageSessions(state, agentId, limit))
  const fits = (limit: number, factor = 1) => {
    const surprise = surpriseReserve(state.quota.includedSessions, held(limit)) - MIN_SURPRISE_SESSIONS
    return limit <= largest && held(limit) * factor + surprise <= sessions
  }
  const fitting = (factor: number) => [largest, ...PAGE_SIZES].find(limit => fits(limit, factor))
  const keeps = running !== null && fits(running)
  const limit = keeps ? Math.max(running, fitting(GROWTH_FACTOR) ?? 0) : fitting(1)
  return limit === undefined ? undefined : { limit, held: held(limit) }
}
