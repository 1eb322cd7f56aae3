// GET /v3/agents/search (API document, section 4.16; parameters from the notes on the API, "Other endpoints").
import { z } from 'zod'
import type { Readings } from '../readings.ts'
import type { SandboxService } from '../service.ts'
import type { AgentRecord } from '../world/agents/agent-record.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import {
  invalidQuery,
  type ListPlace,
  type ListReadings,
  listPlace,
  onPage,
  PAGE_QUERY,
  TotalsSchema,
  totalsOf,
} from './list-page.ts'
import type { Route, RouteRequest } from './route.ts'

/** Of the fields of section 2.12, only those that always have a value. */
const AgentSchema = z.looseObject({
  ID: z.string(),
  title: z.string(),
  lastModified: z.number(),
  nodes: z.array(z.looseObject({ id: z.string() })),
  assignedToolsIds: z.array(z.string()),
})

export const SEARCH_ROUTE: Route = {
  method: 'GET',
  path: '/v3/agents/search',
  kind: 'search',
  faultKind: 'search',
  operation: 'searchAgents',
  summary: 'Search agents',
  query: z.object({
    workspaceId: z.string().optional(),
    search: z.string().optional(),
    sortBy: z.enum(['newest', 'oldest', 'firstCreated', 'lastCreated', 'alphabetical']).default('newest'),
    ...PAGE_QUERY,
    starredOnly: z.enum(['true', 'false']).optional(),
  }),
  response: z.object({
    agents: z.array(AgentSchema),
    starredAgents: z.array(AgentSchema),
    ...TotalsSchema,
    totalStarred: z.int().optional(),
    page: z.int().optional(),
    limit: z.int().optional(),
  }),
  errors: [403],
  answer: answerSearch,
}

type Comparison = (a: AgentRecord, b: AgentRecord) => number

/** `newest` and `oldest` sort by last change, `lastCreated` and `firstCreated` by creation. */
const ORDERS: Record<string, Comparison> = {
  newest: (a, b) => b.lastModified - a.lastModified,
  oldest: (a, b) => a.lastModified - b.lastModified,
  firstCreated: (a, b) => a.createdAtUNIX - b.createdAtUNIX,
  lastCreated: (a, b) => b.createdAtUNIX - a.createdAtUNIX,
  alphabetical: (a, b) => a.title.localeCompare(b.title, 'en'),
}

const listReadings = (readings: Readings): ListReadings => ({
  params: readings['agent-params'],
  most: readings['agent-page'] === 'asked' ? undefined : Number(readings['agent-page']),
  totals: readings['agent-totals'],
})

/** Agents are served live, without the mirror's lag. Pages are counted from 1. */
function answerSearch(service: SandboxService, { params: sent, nowMs }: RouteRequest): Answer {
  const { workspaceId, readings } = service.options
  const list = listReadings(readings)
  const place = listPlace(sent, list)
  const params = list.params === 'read' ? sent : new URLSearchParams()
  const requested = params.get('workspaceId')
  if (requested !== null && requested !== workspaceId) return fault(403, 'The token belongs to another workspace')
  const order = ORDERS[params.get('sortBy') ?? 'newest']
  const orderIssues = order ? [] : [`sortBy must be one of ${Object.keys(ORDERS).join(', ')}`]
  if ('issues' in place) return invalidQuery([...place.issues, ...orderIssues])
  if (order === undefined) return invalidQuery(orderIssues)
  const found = matching(service, params.get('search') ?? '', nowMs).sort(
    (a, b) => order(a, b) || (a.ID < b.ID ? -1 : 1),
  )
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
function matching({ world, conditions, state }: SandboxService, search: string, nowMs: number): AgentRecord[] {
  const needle = search.toLowerCase()
  const existing = world.agentIds().filter(id => !conditions.isGone(id))
  const agents = existing.map(id => {
    const agent = world.agent(id, nowMs)!
    return { ...agent, lastModified: Math.max(agent.lastModified, state.agent(id).changedMs) }
  })
  return agents.filter(({ ID, title, description }) => `${ID}\n${title}\n${description}`.toLowerCase().includes(needle))
}
