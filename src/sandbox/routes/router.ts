// Routes requests to endpoints. Only this file checks the token.

import { answerControl } from '../control.ts'
import { refusedBy, spoil } from '../faults/effects.ts'
import {
  AuditQuery,
  createTool,
  createVariable,
  getAuditLog,
  getMetric,
  listTools,
  listVariables,
  ofAgent,
  updateMetric,
} from './agent-resources.ts'
import { SearchQuery, searchAgents } from './agents.ts'
import { type Answer, fault } from './answer.ts'
import { exportConversations } from './export.ts'
import { ExportParams } from './export-query.ts'
import { deleteOrganization, getOrganization, listTeams, ofOrganization, TeamQuery } from './organizations.ts'
import { type Address, createMatcher, type Route, type SandboxService } from './route.ts'
import { listVoices, VoiceQuery } from './voices.ts'
import { deleteCrawlerJob, getCrawlerPage, ofJob, updateWorkspace } from './workspaces.ts'

interface SandboxRequest {
  method: string
  /** Path and query, as sent. */
  target: string
  authorization: string | undefined
  body: string
}

/** Beginning of the paths of control endpoints. */
const CONTROL = '/_sandbox/'

// Every route of the API that the sandbox serves, in the document's order.

const TOOLS = { path: '/v3/agents/{agentId}/tools', kind: 'tools' } as const
const VARIABLES = { path: '/v3/agents/{agentId}/variables', kind: 'variables' } as const
const AUDIT_LOG = { path: '/v3/agents/{agentId}/audit-log', kind: 'audit', query: AuditQuery } as const
const WORKSPACE = { path: '/v3/workspaces/{id}', kind: 'workspace' } as const
const METRIC = { path: '/v3/agents/{agentId}/custom-metrics/{metricId}', kind: 'metric' } as const
const VOICES = { path: '/v3/voices', kind: 'voices', query: VoiceQuery } as const
const JOB = { path: '/v3/workspaces/{workspaceId}/crawler/jobs/{jobId}', kind: 'crawler' } as const
const EXPORT = { path: '/v3/agents/{agentId}/convos/export', kind: 'export', query: ExportParams } as const
const ORGANIZATION = { path: '/v3/orgs/{orgId}', kind: 'organization' } as const
const TEAMS = { path: '/v3/orgs/{orgId}/teams', kind: 'teams', query: TeamQuery } as const
const SEARCH = { path: '/v3/agents/search', kind: 'search', query: SearchQuery } as const

export const ROUTES: readonly Route[] = [
  { ...TOOLS, method: 'POST', answer: ofAgent(createTool) },
  { ...TOOLS, method: 'GET', answer: ofAgent(listTools) },
  { ...VARIABLES, method: 'POST', answer: ofAgent(createVariable) },
  { ...VARIABLES, method: 'GET', answer: ofAgent(listVariables) },
  { ...AUDIT_LOG, method: 'GET', answer: ofAgent(getAuditLog) },
  { ...WORKSPACE, method: 'PATCH', answer: updateWorkspace },
  { ...METRIC, method: 'GET', answer: ofAgent(getMetric) },
  { ...METRIC, method: 'PUT', answer: ofAgent(updateMetric) },
  { ...VOICES, method: 'GET', answer: listVoices },
  { ...JOB, path: `${JOB.path}/pages/{pageId}`, method: 'GET', answer: ofJob(getCrawlerPage) },
  { ...JOB, method: 'DELETE', answer: ofJob(deleteCrawlerJob) },
  { ...EXPORT, method: 'GET', answer: exportConversations },
  { ...ORGANIZATION, method: 'GET', answer: ofOrganization(getOrganization) },
  { ...TEAMS, method: 'GET', answer: ofOrganization(listTeams) },
  { ...ORGANIZATION, method: 'DELETE', answer: ofOrganization(deleteOrganization) },
  { ...SEARCH, method: 'GET', answer: searchAgents },
]

const match = createMatcher(ROUTES)

/** True for control endpoints, which are not part of the vendor's API: they need no token, and are not logged. */
export const isControl = (target: string): boolean => target.startsWith(CONTROL)

export function route(service: SandboxService, request: SandboxRequest): Answer {
  const url = parseTarget(request.target)
  if (url === undefined) return fault(400, 'The address cannot be read')
  const { pathname, searchParams } = url
  const { method, body } = request
  if (pathname.startsWith(CONTROL)) {
    return answerControl(service, { method, name: pathname.slice(CONTROL.length), params: searchParams, body })
  }
  // Time of arrival, before the answer is built.
  const at = service.clock.now()
  const address = match(pathname)
  const { answer, faults } = answerApi(service, request, { address, params: searchParams, nowMs: at })
  const logged = address && (routeOf(address, method) ?? address.routes[0])
  service.log.add({
    at,
    method,
    path: pathname,
    kind: logged?.kind ?? 'other',
    agentId: address?.ids.agentId ?? null,
    query: recorded(searchParams, Object.keys(logged?.query?.shape ?? {})),
    status: answer.status,
    returned: answer.returned ?? 0,
    billed: answer.billed ?? 0,
    faults,
  })
  return answer
}

interface Arrived {
  address: Address | undefined
  params: URLSearchParams
  nowMs: number
}

interface Served {
  answer: Answer
  faults: string[]
}

/** Answers an API request. Requests without a valid token, path or method are refused before any fault applies. */
function answerApi(service: SandboxService, request: SandboxRequest, { address, params, nowMs }: Arrived): Served {
  const unserved = (answer: Answer): Served => ({ answer, faults: [] })
  if (!hasToken(request.authorization, service.options.token)) {
    const headers = { 'WWW-Authenticate': 'Bearer' }
    return unserved(fault(401, 'The bearer token is missing or not valid', { headers }))
  }
  if (address === undefined) return unserved(fault(404, 'No such address'))
  const found = routeOf(address, request.method)
  if (found === undefined) return unserved(otherMethod(address))
  const { ids } = address
  const plan = service.faults.plan({ kind: found.kind, params })
  // Those of exports come after the rate limit.
  const refused = found.kind === 'export' ? undefined : (plan.take('front') ?? plan.take('refusal'))
  const answer = refused ? refusedBy(refused) : found.answer(service, { ids, params, body: request.body, nowMs, plan })
  return { answer: spoil(answer, plan), faults: plan.served }
}

const routeOf = ({ routes }: Address, method: string): Route | undefined =>
  routes.find(route => route.method === method)

function otherMethod({ routes }: Address): Answer {
  const methods = routes.map(({ method }) => method)
  return fault(405, `Only ${methods.join(' and ')} is served here`, { headers: { Allow: methods.join(', ') } })
}

function recorded(params: URLSearchParams, names: readonly string[]): Record<string, string> {
  const sent = names.filter(name => params.has(name))
  return Object.fromEntries(sent.map(name => [name, params.getAll(name).join(',')]))
}

function hasToken(authorization: string | undefined, token: string): boolean {
  const sent = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1]
  return sent?.trimEnd() === token
}

function parseTarget(target: string): URL | undefined {
  return URL.canParse(target, 'http://sandbox') ? new URL(target, 'http://sandbox') : undefined
}
