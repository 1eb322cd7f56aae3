// How many conversations a request asks for. Far from a limit, a page counts as the agent's mean number of sessions per conversation. Close
// to a limit it counts as if each conversation had as many sessions as any seen before of that agent, so only an unseen number can exceed it.
import type { Density } from '../planning/estimate.ts'
import { parseCount } from '../quota/reported-usage.ts'

/** What an agent's conversations have billed so far. */
export interface AgentBills {
  agentId: string
  returned: number
  billed: number
  /** Most sessions seen in one conversation. */
  most: number
}

/** Sessions per conversation of an agent without bills. A mean of fewer than ten conversations is not taken to be lower. */
const ASSUMED = { mean: 1.25, most: 5 }
const FEW_CONVERSATIONS = 10
const MARGIN = 1.2
/** Page sizes to choose from; few, because each change of the size begins a new generation. */
const PAGE_SIZES = [100, 50, 20, 10, 5, 2, 1]
/** A generation of small pages is ended for a larger size once this many pages of that size fit. */
const GROWTH_FACTOR = 4
/** Largest page of an agent without bills in a run with a limit of sessions. */
const FIRST_PAGE = 5

/** Share of the included sessions kept in case a page bills more than it holds. */
const SURPRISE_SHARE = 0.001
export const MIN_SURPRISE_SESSIONS = 4

/** Sessions kept in case a page bills more than it holds: a third of the page, within a share of the included sessions. */
export const surpriseReserve = (includedSessions: number, page = Number.POSITIVE_INFINITY): number =>
  Math.max(MIN_SURPRISE_SESSIONS, Math.ceil(Math.min(includedSessions * SURPRISE_SHARE, page / 3)))

/** Adds a page to the bills of its agent. `mostSessions`: what its records show; the bill shows at least the mean. */
export function withPage(
  agents: readonly AgentBills[],
  agentId: string,
  page: { returned: number; billed: number; mostSessions?: unknown },
): readonly AgentBills[] {
  const { returned, billed } = page
  if (returned === 0) return agents
  const known = agents.find(agent => agent.agentId === agentId)
  const most = Math.max(Math.ceil(billed / returned), Math.min(billed, parseCount(page.mostSessions) ?? 0), 1)
  const bills = {
    agentId,
    returned: (known?.returned ?? 0) + returned,
    billed: (known?.billed ?? 0) + billed,
    most: Math.max(known?.most ?? 0, most),
  }
  return known ? agents.map(agent => (agent === known ? bills : agent)) : [...agents, bills]
}

/** The bills of agents according to stored conversations, joined with those seen by this run. */
export function withDensities(
  agents: readonly AgentBills[],
  densities: Iterable<readonly [agentId: string, Density]>,
): readonly AgentBills[] {
  const all = new Map(agents.map(agent => [agent.agentId, agent]))
  for (const [agentId, { sessionsPerConversation, mostSessions }] of densities) {
    const most = Math.max(mostSessions, all.get(agentId)?.most ?? 1)
    all.set(agentId, { agentId, returned: 100, billed: 100 * sessionsPerConversation, most })
  }
  return [...all.values()]
}

interface Bills {
  agents: readonly AgentBills[]
}

const billsOf = ({ agents }: Bills, agentId: string): AgentBills | undefined =>
  agents.find(agent => agent.agentId === agentId)

/** Sessions that a page of that agent is expected to bill; the most that are assumed, if it has no bills. */
export function pageSessions(state: Bills, agentId: string, limit: number): number {
  const bills = billsOf(state, agentId)
  if (!bills && limit > 1) return limit * ASSUMED.most
  const { returned, billed } = bills ?? { returned: 0, billed: 0 }
  const mean = Math.max(returned < FEW_CONVERSATIONS ? ASSUMED.mean : 1, billed / Math.max(1, returned))
  return Math.ceil(limit * mean * (limit > 1 ? MARGIN : 1))
}

/** A page size, and the sessions that such a page holds. */
export interface PageSize {
  limit: number
  held: number
}

/**
 * The page size that fits into `sessions`; undefined: none. `left`: sessions up to the closest limit. A running generation keeps its size,
 * unless larger pages fit again.
 */
export function pageSize(
  state: Bills & { options: { maxSessions: number | null }; quota: { includedSessions: number } },
  asked: { agentId: string; sessions: number; left: number; largest: number; running: number | null },
): PageSize | undefined {
  const { agentId, sessions, left, running } = asked
  const bills = billsOf(state, agentId)
  const most = bills?.most ?? ASSUMED.most
  const isClose = left < 2 * (pageSessions(state, agentId, asked.largest) + most)
  const largest = bills || state.options.maxSessions === null ? asked.largest : Math.min(asked.largest, FIRST_PAGE)
  const sized = (limit: number): PageSize => ({
    limit,
    held: isClose && limit > 1 ? limit * most : pageSessions(state, agentId, limit),
  })
  const fits = ({ limit, held }: PageSize, factor = 1) =>
    limit <= largest &&
    held * factor + surpriseReserve(state.quota.includedSessions, held) - MIN_SURPRISE_SESSIONS <= sessions
  const sizes = [largest, ...PAGE_SIZES].map(sized)
  const current = running === null ? undefined : sized(running)
  const larger = sizes.find(size => fits(size, GROWTH_FACTOR))
  if (!current || !fits(current)) return sizes.find(size => fits(size))
  return larger && larger.limit > current.limit ? larger : current
}
