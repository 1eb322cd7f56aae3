// GET /v3/agents/search (API document, section 4.16; parameters from the notes on the API, "Other endpoints") and
// GET /v3/agents/{agentId}/tools (section 4.2).
import type { Conditions } from '../limits/conditions.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Readings } from '../readings.ts'
import type { AgentRecord } from '../world/agents/agent-record.ts'
import { otherTools, type Tool } from '../world/agents/tools.ts'
import type { World } from '../world/world.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { invalidQuery, type ListPlace, type ListReadings, listPlace, onPage, totalsOf } from './list-page.ts'

export const SEARCH_PARAMS = ['workspaceId', 'search', 'sortBy', 'page', 'limit', 'starredOnly'] as const

type Comparison = (a: AgentRecord, b: AgentRecord) => number

/** `newest` and `oldest` sort by last change, `lastCreated` and `firstCreated` by creation. */
const ORDERS: Record<string, Comparison> = {
  newest: (a, b) => b.lastModified - a.lastModified,
  oldest: (a, b) => a.lastModified - b.lastModified,
  firstCreated: (a, b) => a.createdAtUNIX - b.createdAtUNIX,
  lastCreated: (a, b) => b.createdAtUNIX - a.createdAtUNIX,
  alphabetical: (a, b) => a.title.localeCompare(b.title, 'en'),
}

interface Searched {
  world: World
  workspaceId: string
  conditions: Conditions
  /** Agents are served live, without the mirror's lag. */
  nowMs: number
  readings: Readings
}

const listReadings = (readings: Readings): ListReadings => ({
  params: readings['agent-params'],
  most: readings['agent-page'] === 'asked' ? undefined : Number(readings['agent-page']),
  totals: readings['agent-totals'],
})

/** Pages are counted from 1. */
export function answerSearch(searched: Searched, sent: URLSearchParams): Answer {
  const { workspaceId, readings } = searched
  const list = listReadings(readings)
  const place = listPlace(sent, list)
  const params = list.params === 'read' ? sent : new URLSearchParams()
  const requested = params.get('workspaceId')
  if (requested !== null && requested !== workspaceId) return fault(403, 'The token belongs to another workspace')
  const order = ORDERS[params.get('sortBy') ?? 'newest']
  const orderIssues = order ? [] : [`sortBy must be one of ${Object.keys(ORDERS).join(', ')}`]
  if ('issues' in place) return invalidQuery([...place.issues, ...orderIssues])
  if (order === undefined) return invalidQuery(orderIssues)
  const found = matching(searched, params.get('search') ?? '').sort((a, b) => order(a, b) || (a.ID < b.ID ? -1 : 1))
  const starred = found.filter(agent => agent.starred)
  const others = readings.starred === 'apart' ? found.filter(agent => !agent.starred) : found
  const listed = params.get('starredOnly') === 'true' ? starred : others
  const agents = onPage(listed, place)
  const { total, hasMore } = totalsOf(listed.length, place, list)
  const isDocumented = list.totals === 'neither'
  return jsonAnswer({
    agents,
    starredAgents: starredOn(readings.starred, place, { starred, agents }),
    total,
    ...(!isDocumented && { totalStarred: starred.length, page: place.page, limit: place.limit }),
    hasMore,
  })
}

function starredOn(
  reading: Readings['starred'],
  { page }: ListPlace,
  lists: Record<'starred' | 'agents', AgentRecord[]>,
) {
  if (reading === 'own-page') return lists.agents.filter(agent => agent.starred)
  return reading === 'first-page' && page > 1 ? [] : lists.starred
}

/** Existing agents whose ID, title or description contains the text. */
function matching({ world, conditions, nowMs }: Searched, search: string): AgentRecord[] {
  const needle = search.toLowerCase()
  const existing = world.agentIds().filter(id => !conditions.isGone(id))
  const agents = existing.map(id => world.agent(id, nowMs)!)
  return agents.filter(({ ID, title, description }) => `${ID}\n${title}\n${description}`.toLowerCase().includes(needle))
}

interface ToolsRequest {
  options: ResolvedOptions
  world: World
  conditions: Conditions
  agentId: string
  params: URLSearchParams
  nowMs: number
}

/** The agent's current tools: the one in its record, and others that are created and deleted over time. */
export function answerTools({ options, world, conditions, agentId, params, nowMs }: ToolsRequest): Answer {
  if (options.readings['unknown-params'] === 'refused' && params.size > 0)
    return invalidQuery([...new Set(params.keys())].map(name => `${name} is not known`))
  const record = world.agent(agentId, nowMs)
  if (record === undefined || conditions.isGone(agentId)) return fault(404, 'Agent not found')
  const agent = world.agentIds().indexOf(agentId)
  const { seed, workspaceId } = options
  const owner = { agent, agentId, workspaceId, createdMs: record.createdAtUNIX * 1_000 }
  const data = [...(record.tools as Tool[]), ...otherTools(owner, seed, nowMs)]
  return jsonAnswer({ success: true, message: 'Tools retrieved successfully', data })
}
