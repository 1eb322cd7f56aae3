// The operations of the API, one declaration each (section 4 of the API document). The client's methods, the command
// `api` and its argument checks derive from them.
import type { Target } from '../address.ts'

/** A query parameter. `texts`: several values, separated by commas; `ids`: likewise, but errors show only their number. */
export type Parameter =
  | { type: 'integer'; min: number; max?: number }
  | { type: 'text' | 'texts' | 'boolean' | 'cursor' }
  | { type: 'ids'; most: number }
  | { type: 'choice'; values: readonly string[] }

/** Effect of an operation on the vendor's data or the account: `bills` costs billed sessions and hourly requests. */
export type Effect = 'reads' | 'bills' | 'writes' | 'deletes'

export interface Operation {
  name: string
  /** Section of the API document. */
  section: `4.${number}`
  about: string
  effect: Effect
  method: Target['method']
  /** Path with placeholders: `{agentId}` stands for the argument of that name. */
  path: `/v3/${string}`
  query: Readonly<Record<string, Parameter>>
  /** Name of the argument that is sent as the body; null if the request has no body. */
  body: string | null
  /** Keys of the answer, with their types. Of alternative keys, one may be missing. */
  envelope: Readonly<Record<string, 'list' | 'record' | 'count'>>
}

const AGENT = '/v3/agents/{agentId}'
const ORGANIZATION = '/v3/orgs/{orgId}'
const CRAWLER_JOB = '/v3/workspaces/{workspaceId}/crawler/jobs/{jobId}'

const READ = { method: 'GET', effect: 'reads', query: {}, body: null } as const
const WRITE = { effect: 'writes', query: {} } as const
const DELETE = { method: 'DELETE', effect: 'deletes', query: {}, body: null } as const

/** Usual parameters of lists whose parameters the document does not show. */
const PAGE = { page: { type: 'integer', min: 1 }, limit: { type: 'integer', min: 1, max: 100 } } as const

export const OPERATIONS = [
  {
    ...WRITE,
    name: 'createTool',
    section: '4.1',
    about: 'Create a tool of an agent',
    method: 'POST',
    path: `${AGENT}/tools`,
    body: 'tool',
    envelope: { data: 'record' },
  },
  {
    ...READ,
    name: 'listTools',
    section: '4.2',
    about: 'List the tools of an agent',
    path: `${AGENT}/tools`,
    envelope: { data: 'list' },
  },
  {
    ...WRITE,
    name: 'createVariable',
    section: '4.3',
    about: 'Create a variable of an agent',
    method: 'POST',
    path: `${AGENT}/variables`,
    body: 'variable',
    envelope: { data: 'record' },
  },
  {
    ...READ,
    name: 'listVariables',
    section: '4.4',
    about: 'List the variables of an agent, with their values',
    path: `${AGENT}/variables`,
    envelope: { data: 'list' },
  },
  {
    ...READ,
    name: 'getAuditLog',
    section: '4.5',
    about: 'Read a page of the audit log of an agent, newest entries first',
    path: `${AGENT}/audit-log`,
    // The document states neither a default nor a maximum of `limit`.
    query: { limit: { type: 'integer', min: 1 }, cursorTs: { type: 'integer', min: 0 } },
    envelope: { entries: 'list' },
  },
  {
    ...WRITE,
    name: 'updateWorkspace',
    section: '4.6',
    about: 'Change the workspace',
    method: 'PATCH',
    path: '/v3/workspaces/{workspaceId}',
    body: 'updates',
    envelope: { data: 'record' },
  },
  {
    ...READ,
    name: 'getCustomMetric',
    section: '4.7',
    about: 'Get a custom metric of an agent',
    path: `${AGENT}/custom-metrics/{metricId}`,
    envelope: { metric: 'record' },
  },
  {
    ...WRITE,
    name: 'updateCustomMetric',
    section: '4.8',
    about: 'Change a custom metric of an agent',
    method: 'PUT',
    path: `${AGENT}/custom-metrics/{metricId}`,
    body: 'metric',
    envelope: { metric: 'record' },
  },
  {
    ...READ,
    name: 'listVoices',
    section: '4.9',
    about: 'List the voices of all text-to-speech providers',
    path: '/v3/voices',
    query: {
      language: { type: 'text' },
      gender: { type: 'text' },
      accent: { type: 'text' },
      providers: { type: 'texts' },
      limit: { type: 'integer', min: 1, max: 500 },
      offset: { type: 'integer', min: 0 },
    },
    envelope: { voices: 'list' },
  },
  {
    ...READ,
    name: 'getCrawlerPage',
    section: '4.10',
    about: 'Get a page of a crawler job',
    path: `${CRAWLER_JOB}/pages/{pageId}`,
    envelope: { data: 'record' },
  },
  {
    ...DELETE,
    name: 'deleteCrawlerJob',
    section: '4.11',
    about: 'Delete a crawler job and its pages',
    path: CRAWLER_JOB,
    envelope: {},
  },
  {
    ...READ,
    name: 'exportConversations',
    section: '4.12',
    about: 'Export conversations of an agent',
    effect: 'bills',
    path: `${AGENT}/convos/export`,
    query: {
      limit: { type: 'integer', min: 1, max: 100 },
      sort: { type: 'choice', values: ['desc', 'asc'] },
      fromTs: { type: 'integer', min: 0 },
      toTs: { type: 'integer', min: 0 },
      cursor: { type: 'cursor' },
      convoIds: { type: 'ids', most: 500 },
      format: { type: 'choice', values: ['json', 'csv'] },
    },
    envelope: { data: 'list' },
  },
  {
    ...READ,
    name: 'getOrganization',
    section: '4.13',
    about: 'Get an organization',
    path: ORGANIZATION,
    envelope: { data: 'record' },
  },
  {
    ...READ,
    name: 'listTeams',
    section: '4.14',
    about: 'List the teams of an organization',
    path: `${ORGANIZATION}/teams`,
    query: PAGE,
    envelope: { teams: 'list' },
  },
  {
    ...DELETE,
    name: 'deleteOrganization',
    section: '4.15',
    about: 'Delete an organization and all its client users',
    path: ORGANIZATION,
    envelope: { deletedClientsCount: 'count' },
  },
  {
    ...READ,
    name: 'searchAgents',
    section: '4.16',
    about: 'Search the agents of the workspace',
    path: '/v3/agents/search',
    query: {
      workspaceId: { type: 'text' },
      search: { type: 'text' },
      sortBy: { type: 'choice', values: ['newest', 'oldest', 'firstCreated', 'lastCreated', 'alphabetical'] },
      ...PAGE,
      starredOnly: { type: 'boolean' },
    },
    envelope: { agents: 'list', starredAgents: 'list' },
  },
] as const satisfies readonly Operation[]

export type OperationName = (typeof OPERATIONS)[number]['name']

/** Returns the names of the ids in the path. */
export const idsIn = ({ path }: Operation): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
