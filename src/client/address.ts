// The target of a request: as sent, and as errors show it, without cursor and list of ids.

import type { PageRequest, Resource } from '../catalog/resources/resource.ts'
import { ConvohouseError } from '../core/errors.ts'

export interface ApiAddress {
  origin: string
  /** Path before `/v3`: empty, or such as `/some/path`. */
  prefix: string
}

/** Query of an export (section 4.12). `fromTs` and `toTs` are inclusive, in seconds or ms; the caller chooses the unit. */
export interface ExportQuery {
  limit?: number
  sort?: 'asc' | 'desc'
  fromTs?: number
  toTs?: number
  cursor?: string
  convoIds?: string[]
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Target<M extends Method = Method> {
  method: M
  /** Body as JSON; omitted if the request has none. */
  body?: string
  /** Path and query as sent. */
  sent: string
  /** Path alone, as sent. */
  path: string
  /** Method, path and the part of the query that may be shown. */
  shown: string
  agentId?: string
}

/** A request that changes nothing at the vendor. */
export type ReadTarget = Target<'GET'>

/**
 * Parses the base URL: with or without a trailing slash, a path prefix, or `/v3` itself.
 * @throws ConvohouseError CONFIG_INVALID if it is not an http(s) URL, or contains a user, a query or a fragment
 */
export function readApiAddress(apiUrl: string): ApiAddress {
  const url = URL.canParse(apiUrl) ? new URL(apiUrl) : undefined
  const plain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (!plain) {
    throw new ConvohouseError('CONFIG_INVALID', {
      // The URL is not quoted, since it may contain a user's password.
      what: 'The API address is not a plain http or https URL',
      hint: 'Give the base URL alone, such as https://api.example.com, without user, query or fragment.',
    })
  }
  const prefix = url.pathname.replace(/\/+$/, '').replace(/\/v3$/, '').replace(/\/+$/, '')
  return { origin: url.origin, prefix }
}

/** Returns the path of an agent's export, as landed pages record it. */
export const exportPath = (agentId: string): string => `/v3/agents/${encodeURIComponent(agentId)}/convos/export`

/**
 * Returns the target of an export (section 4.12).
 * @throws ConvohouseError AGENT_UNKNOWN or FLAG_INVALID for an id that the address cannot contain
 */
export function exportTarget(input: { address: ApiAddress; agentId: string; query: ExportQuery }): ReadTarget {
  const { agentId, query } = input
  requireSegment(agentId, 'agent')
  const path = input.address.prefix + exportPath(agentId)
  const { cursor, convoIds, ...plain } = query
  const parameters = [
    ...Object.entries(plain).map(([name, value]) => parameter(name, value)),
    parameter('cursor', cursor, '…'),
    ...(convoIds ? [selection(convoIds)] : []),
  ]
  return { ...compose('GET', path, parameters), agentId }
}

/** Ids in the path of a request for a resource: the workspace's, and those of the other placeholders in order. */
export interface PathIds {
  workspaceId: string
  ids?: readonly string[] | undefined
}

/** Returns the path of a request for a resource, below the API's prefix. @throws as `resourceTarget` */
export function resourcePath({ path }: Resource, { workspaceId, ids = [] }: PathIds): string {
  const left = [...ids]
  return path.replace(PLACEHOLDER, (_, placeholder: string) =>
    encodeSegment(placeholder === 'workspace' ? workspaceId : (left.shift() ?? ''), placeholder),
  )
}

/**
 * Returns the target of a request for a resource, with the parameters of `query`.
 * @throws ConvohouseError AGENT_UNKNOWN or FLAG_INVALID for an id that the address cannot contain
 */
export function resourceTarget(
  input: PathIds & { address: ApiAddress; resource: Resource; query: ResourceQuery },
): ReadTarget {
  const { address, resource, query, ids = [] } = input
  const parameters = Object.entries(query).map(([name, value]) => parameter(name, value))
  const target = compose('GET', `${address.prefix}${resourcePath(resource, input)}`, parameters)
  return resource.path.includes('{agentId}') ? { ...target, agentId: ids[0]! } : target
}

type ResourceQuery = Readonly<Record<string, string | number>>

/** Returns the query of a request for a resource; without `page`, a listing is requested without parameters. */
export const resourceQuery = ({ paging }: Resource, page?: PageRequest): ResourceQuery =>
  typeof paging === 'function' && page ? paging(page) : {}

const PLACEHOLDER = /\{(\w+)Id\}/g

/**
 * True for an id that can be a path segment. Excludes `.`, `..`, the empty id and lone surrogates, which no URL can
 * contain, and NUL, which DuckDB cannot cast.
 */
export const isSegment = (id: string): boolean =>
  id !== '' && id !== '.' && id !== '..' && id.isWellFormed() && !id.includes('\0')

export interface Parameter {
  sent: string
  shown: string
}

export function compose<M extends Method>(
  method: M,
  path: string,
  parameters: readonly (Parameter | undefined)[],
): Target<M> {
  const query = (form: keyof Parameter) => parameters.flatMap(each => each?.[form] ?? []).join('&')
  const withQuery = (text: string) => (text === '' ? path : `${path}?${text}`)
  return { method, path, sent: withQuery(query('sent')), shown: `${method} ${withQuery(query('shown'))}` }
}

export function parameter(name: string, value: string | number | undefined, shown?: string): Parameter | undefined {
  if (value === undefined) return undefined
  // A cursor may be any text, and encodeURIComponent would throw for a lone surrogate.
  const encoded = encodeURIComponent(String(value).toWellFormed())
  return { sent: `${name}=${encoded}`, shown: `${name}=${shown ?? encoded}` }
}

export function selection(ids: readonly string[]): Parameter {
  // Without ids the export would page through all conversations of the agent.
  if (ids.length === 0) throw unusable('No conversation id is given', 'Name at least one id.')
  if (ids.some(id => id === '' || id.includes(','))) {
    throw unusable(
      'A conversation id is empty or contains a comma',
      'Export such conversations by time range instead; the API separates ids with commas.',
    )
  }
  // A comma is legal in a query; encoded, it would take three characters of the URL's length limit.
  return {
    sent: `convoIds=${ids.map(id => encodeURIComponent(id.toWellFormed())).join(',')}`,
    shown: `convoIds=…(${ids.length})`,
  }
}

/** Encodes an id as a path segment. `of`: the kind of id, named by the path's placeholder. */
function encodeSegment(id: string, of: string): string {
  requireSegment(id, of)
  return encodeURIComponent(id)
}

function requireSegment(id: string, of: string): void {
  if (isSegment(id)) return
  const what = `"${id}" is not a valid ${of} id`
  if (of !== 'agent') throw unusable(what, `Name an ${of} by its ID.`)
  throw new ConvohouseError('AGENT_UNKNOWN', {
    what,
    hint: 'Name an agent by its ID, as `convohouse status` lists it.',
  })
}

function unusable(what: string, hint: string): ConvohouseError {
  return new ConvohouseError('FLAG_INVALID', { what, hint })
}
