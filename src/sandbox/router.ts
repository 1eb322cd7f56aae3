// From a request's address to the endpoint that answers it; the token is looked at here and nowhere else.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Answer } from './answer.ts'
import { fault } from './answer.ts'
import type { ControlService } from './control-door.ts'
import { answerControl } from './control-door.ts'
import { answerExport } from './export-endpoint.ts'
import { EXPORT_PARAMS } from './export-query.ts'
import type { ServedRequest } from './request-log.ts'
import { answerSearch, SEARCH_PARAMS } from './search-endpoint.ts'

export interface SandboxRequest {
  method: string
  /** Path and query, as sent. */
  target: string
  authorization: string | undefined
  body: string
}

const CONTROL = '/_sandbox/'
const EXPORT_PATH = /^\/v3\/agents\/([^/]+)\/convos\/export$/
const SEARCH_PATH = '/v3/agents/search'

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
  // The time of arrival, before the answer is worked out.
  const at = service.clock.now()
  const answer = answerApi(service, request, url, matched)
  const names: readonly string[] = matched.kind === 'export' ? EXPORT_PARAMS : SEARCH_PARAMS
  service.log.add({
    at,
    ...matched,
    query: matched.kind === 'other' ? {} : recorded(url.searchParams, names),
    status: answer.status,
    returned: answer.returned ?? 0,
    billed: answer.billed ?? 0,
  })
  return answer
}

type Matched = Pick<ServedRequest, 'kind' | 'agentId'>

function answerApi(service: ControlService, request: SandboxRequest, url: URL, { kind, agentId }: Matched): Answer {
  const { options, world } = service
  if (!hasToken(request.authorization, options.token)) {
    return fault(401, 'The bearer token is missing or not valid', { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
  if (kind === 'other') return fault(404, 'No such address')
  if (request.method !== 'GET') return fault(405, 'Only GET is served here', { headers: { Allow: 'GET' } })
  if (kind === 'search') return answerSearch(world, options.workspaceId, url.searchParams)
  return answerExport(service, agentId ?? '', url.searchParams)
}

function matchPath(path: string): Matched {
  if (path === SEARCH_PATH) return { kind: 'search', agentId: null }
  const encoded = EXPORT_PATH.exec(path)?.[1]
  const agentId = encoded === undefined ? undefined : decode(encoded)
  return agentId === undefined ? { kind: 'other', agentId: null } : { kind: 'export', agentId }
}

function recorded(params: URLSearchParams, names: readonly string[]): Record<string, string> {
  const told = names.filter(name => params.has(name))
  return Object.fromEntries(told.map(name => [name, params.getAll(name).join(',')]))
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

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
