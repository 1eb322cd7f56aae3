// Routes requests to endpoints. Only this file checks the token.

import { createHash, timingSafeEqual } from 'node:crypto'
import { answerControl, type ControlService } from '../control.ts'
import { refusedBy, spoil } from '../faults/effects.ts'
import type { FaultKind } from '../faults/fault-settings.ts'
import type { FaultPlan } from '../faults/faults.ts'
import type { ServedRequest } from '../request-log.ts'
import { answerSearch, answerTools, SEARCH_PARAMS } from './agents.ts'
import { type Answer, fault, shapeError } from './answer.ts'
import { answerExport } from './export.ts'
import { EXPORT_PARAMS } from './export-query.ts'
import { answerOrganization, TEAM_PARAMS } from './organizations.ts'

interface SandboxRequest {
  method: string
  /** Path and query, as sent. */
  target: string
  authorization: string | undefined
  body: string
}

/** Paths of the control endpoints begin with this. */
const CONTROL = '/_sandbox/'
const EXPORT_PATH = /^\/v3\/agents\/([^/]+)\/convos\/export$/
const TOOLS_PATH = /^\/v3\/agents\/([^/]+)\/tools$/
const SEARCH_PATH = '/v3/agents/search'
const ORGANIZATION_PATH = /^\/v3\/orgs\/([^/]+)(\/teams)?$/

export function isControl(target: string): boolean {
  return target.startsWith(CONTROL)
}

export function route(service: ControlService, request: SandboxRequest): Answer {
  const url = parseTarget(request.target)
  if (url === undefined) return fault(400, 'The address cannot be read')
  if (isControl(url.pathname)) {
    const { method, body } = request
    return answerControl(service, { method, name: url.pathname.slice(CONTROL.length), params: url.searchParams, body })
  }
  const matched = matchPath(url.pathname)
  // Time of arrival, before the answer is built.
  const at = service.clock.now()
  const { answer: plain, faults } = answerApi(service, request, url, matched)
  const answer = shapeError(plain, service.options.readings, at)
  service.log.add({
    at,
    ...matched,
    query: recorded(url.searchParams, PARAMS[matched.kind]),
    status: answer.status,
    returned: answer.returned ?? 0,
    billed: answer.billed ?? 0,
    faults,
  })
  return answer
}

type Matched = Pick<ServedRequest, 'kind' | 'agentId' | 'organizationId'>

const PARAMS: Record<Matched['kind'], readonly string[]> = {
  export: EXPORT_PARAMS,
  search: SEARCH_PARAMS,
  organization: [],
  teams: TEAM_PARAMS,
  tools: [],
  other: [],
}

interface Served {
  answer: Answer
  faults: string[]
}

/** Requests without a valid token or path are refused before any fault applies. */
function answerApi(service: ControlService, request: SandboxRequest, url: URL, matched: Matched): Served {
  const { kind, agentId } = matched
  const wrong = refuse(service, request, kind)
  if (wrong !== undefined || kind === 'other') return { answer: wrong ?? fault(404, 'No such address'), faults: [] }
  const params = url.searchParams
  const plan = service.faults.plan({ kind: FAULT_KINDS[kind], agentId, params })
  const answer =
    kind === 'export'
      ? answerExport(service, { agentId: agentId ?? '', params, plan })
      : unmetered(plan, () => answerResource(service, request, matched, params))
  return { answer: spoil(answer, plan), faults: plan.served }
}

const FAULT_KINDS: Record<Exclude<Matched['kind'], 'other'>, FaultKind> = {
  export: 'export',
  search: 'search',
  organization: 'organization',
  teams: 'organization',
  tools: 'tools',
}

function refuse({ options }: ControlService, request: SandboxRequest, kind: Matched['kind']): Answer | undefined {
  if (!hasToken(request.authorization, options.token)) {
    return fault(401, 'The bearer token is missing or not valid', { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
  const methods = kind === 'organization' ? ['GET', 'DELETE'] : ['GET']
  if (kind === 'other' || methods.includes(request.method)) return undefined
  return fault(405, `Only ${methods.join(' and ')} is served here`, { headers: { Allow: methods.join(', ') } })
}

/** Answers a request to an endpoint that has no rate limit. */
function unmetered(plan: FaultPlan, answer: () => Answer): Answer {
  const refused = plan.take('front') ?? plan.take('refusal')
  return refused ? refusedBy(refused) : answer()
}

function answerResource(
  service: ControlService,
  { method }: SandboxRequest,
  { kind, agentId, organizationId }: Matched,
  params: URLSearchParams,
): Answer {
  const { world, options, conditions, clock } = service
  const nowMs = clock.now()
  if (organizationId !== undefined) {
    const resource = kind === 'teams' ? kind : 'organization'
    return answerOrganization(service, { kind: resource, method, organizationId, params, nowMs })
  }
  if (kind === 'tools') return answerTools({ world, options, conditions, agentId: agentId ?? '', params, nowMs })
  return answerSearch(
    { world, workspaceId: options.workspaceId, conditions, nowMs, readings: options.readings },
    params,
  )
}

function matchPath(path: string): Matched {
  if (path === SEARCH_PATH) return { kind: 'search', agentId: null }
  const agentId = decode(EXPORT_PATH.exec(path)?.[1])
  if (agentId !== undefined) return { kind: 'export', agentId }
  const withTools = decode(TOOLS_PATH.exec(path)?.[1])
  if (withTools !== undefined) return { kind: 'tools', agentId: withTools }
  const [, encoded, teams] = ORGANIZATION_PATH.exec(path) ?? []
  const organizationId = decode(encoded)
  if (organizationId === undefined) return { kind: 'other', agentId: null }
  return { kind: teams ? 'teams' : 'organization', agentId: null, organizationId }
}

function recorded(params: URLSearchParams, names: readonly string[]): Record<string, string> {
  const sent = names.filter(name => params.has(name))
  return Object.fromEntries(sent.map(name => [name, params.getAll(name).join(',')]))
}

function hasToken(authorization: string | undefined, token: string): boolean {
  const sent = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1]
  return sent !== undefined && timingSafeEqual(digest(sent.trimEnd()), digest(token))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function parseTarget(target: string): URL | undefined {
  return URL.canParse(target, 'http://sandbox') ? new URL(target, 'http://sandbox') : undefined
}

function decode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
}
