// GET /v3/agents/search (API document, section 4.16; parameters from the notes on the API, "Other endpoints").
import { z } from 'zod'
import type { AgentRecord } from '../world/agents/agent-record.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { hasMoreAfter, onPage, PAGE_QUERY, readList } from './input.ts'
import type { RouteRequest, SandboxService } from './route.ts'

export const SearchQuery = z.object({
  workspaceId: z.string().optional(),
  search: z.string().optional(),
  sortBy: z.enum(['newest', 'oldest', 'firstCreated', 'lastCreated', 'alphabetical']).default('newest'),
  ...PAGE_QUERY,
  starredOnly: z.enum(['true', 'false']).optional(),
})

type Comparison = (a: AgentRecord, b: AgentRecord) => number

/** `newest` and `oldest` sort by last change, `lastCreated` and `firstCreated` by creation. */
const ORDERS: Record<z.output<typeof SearchQuery>['sortBy'], Comparison> = {
  newest: (a, b) => b.lastModified - a.lastModified,
  oldest: (a, b) => a.lastModified - b.lastModified,
  firstCreated: (a, b) => a.createdAtUNIX - b.createdAtUNIX,
  lastCreated: (a, b) => b.createdAtUNIX - a.createdAtUNIX,
  alphabetical: (a, b) => a.title.localeCompare(b.title, 'en'),
}

/** Searches agents, which are served live, without the mirror's lag. */
export function searchAgents(service: SandboxService, { params, nowMs }: RouteRequest): Answer {
  const { options } = service
  const read = readList(SearchQuery, params, options.readings.agentPage)
  if ('refused' in read) return read.refused
  const { workspaceId = options.workspaceId, search = '', sortBy, starredOnly, page, limit } = read.value
  if (workspaceId !== options.workspaceId) return fault(403, 'The token belongs to another workspace')
  const order = ORDERS[sortBy]
  const found = matching(service, search, nowMs).sort((a, b) => order(a, b) || (a.ID < b.ID ? -1 : 1))
  const starred = found.filter(agent => agent.starred)
  const listed = starredOnly === 'true' ? starred : found
  return jsonAnswer({
    agents: onPage(listed, { page, limit }),
    starredAgents: starred,
    total: listed.length,
    totalStarred: starred.length,
    page,
    limit,
    hasMore: hasMoreAfter(listed.length, { page, limit }),
  })
}

/** Returns existing agents whose ID, title or description contains the text. */
function matching({ world, conditions }: SandboxService, search: string, nowMs: number): AgentRecord[] {
  const needle = search.toLowerCase()
  const existing = world.agentIds().filter(id => !conditions.isGone(id))
  const agents = existing.map(id => world.agent(id, nowMs)!)
  return agents.filter(({ ID, title, description }) => `${ID}\n${title}\n${description}`.toLowerCase().includes(needle))
}
