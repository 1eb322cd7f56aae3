// GET /v3/agents/search (API document, section 4.16; parameters from the notes on the API, "Other endpoints").
import type { AgentRecord } from './agents/agent-record.ts'
import type { Answer } from './answer.ts'
import { fault, jsonAnswer } from './answer.ts'
import type { Conditions } from './conditions.ts'
import { MAX_PAGE, readCount } from './read-count.ts'
import type { World } from './world.ts'

export const SEARCH_PARAMS = ['workspaceId', 'search', 'sortBy', 'page', 'limit', 'starredOnly'] as const

type Comparison = (a: AgentRecord, b: AgentRecord) => number

/** `newest` and `oldest` go by the last change, `lastCreated` and `firstCreated` by the creation. */
const ORDERS: Record<string, Comparison> = {
  newest: (a, b) => b.lastModified - a.lastModified,
  oldest: (a, b) => a.lastModified - b.lastModified,
  firstCreated: (a, b) => a.createdAtUNIX - b.createdAtUNIX,
  lastCreated: (a, b) => b.createdAtUNIX - a.createdAtUNIX,
  alphabetical: (a, b) => a.title.localeCompare(b.title, 'en'),
}

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100

interface Searched {
  world: World
  workspaceId: string
  conditions: Conditions
  /** Agents are told as they are now: no mirror is between. */
  nowMs: number
}

/** Pages are counted from 1. `starredAgents` holds all that match, on every page. */
export function answerSearch({ world, workspaceId, conditions, nowMs }: Searched, params: URLSearchParams): Answer {
  const asked = params.get('workspaceId')
  if (asked !== null && asked !== workspaceId) return fault(403, 'The token belongs to another workspace')
  const page = readCount(params, 'page', { otherwise: 1, max: MAX_PAGE })
  const limit = readCount(params, 'limit', { otherwise: DEFAULT_LIMIT, max: MAX_LIMIT })
  const order = ORDERS[params.get('sortBy') ?? 'newest']
  if (page === undefined || limit === undefined || order === undefined) {
    return fault(400, 'Invalid query', { issues: issuesOf({ page, limit, order }) })
  }
  const found = matching({ world, nowMs }, params.get('search') ?? '')
    .filter(agent => !conditions.isGone(agent.ID))
    .sort((a, b) => order(a, b) || (a.ID < b.ID ? -1 : 1))
  const starredAgents = found.filter(agent => agent.starred)
  const listed = params.get('starredOnly') === 'true' ? starredAgents : found
  return jsonAnswer({
    agents: listed.slice((page - 1) * limit, page * limit),
    starredAgents,
    total: listed.length,
    totalStarred: starredAgents.length,
    page,
    limit,
    hasMore: page * limit < listed.length,
  })
}

function matching({ world, nowMs }: Pick<Searched, 'world' | 'nowMs'>, search: string): AgentRecord[] {
  const needle = search.toLowerCase()
  const agents = world.agentIds().map(id => world.agent(id, nowMs)!)
  return agents.filter(({ ID, title, description }) => `${ID}\n${title}\n${description}`.toLowerCase().includes(needle))
}

function issuesOf(read: { page: unknown; limit: unknown; order: unknown }): string[] {
  const issues: string[] = []
  if (read.page === undefined) issues.push('page must be a whole number from 1')
  if (read.limit === undefined) issues.push(`limit must be a whole number from 1 to ${MAX_LIMIT}`)
  if (read.order === undefined) issues.push(`sortBy must be one of ${Object.keys(ORDERS).join(', ')}`)
  return issues
}
