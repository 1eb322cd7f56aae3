// What the server tells about itself and the reader: pages, scopes, changes of agents, agents and their organizations.
import type { Page, Tile, TileOf } from '../../pages/page-format.ts'
import { agentsOf } from '../state/filters.ts'
import { getJson } from './client.ts'
import { useAnswer } from './resource.ts'

export type { Page, Tile }
export type MetricsTile = TileOf<'metrics'>
export type TableTile = TileOf<'table'>
export type SqlTile = TileOf<'sql'>
export type ShowTile = TileOf<'show'>

export const usePages = () =>
  useAnswer('pages', async () => {
    const { pages, problems } = await getJson<{ pages: Page[]; problems: string[] }>('v1/pages')
    return { pages, problems }
  })

export interface Session {
  token: string | null
  scopes: string[]
  timeZones: string[]
}

export const useSession = () => useAnswer('session', () => getJson<Session>('v1/session'))

export const useMay = (scope: 'metrics' | 'sql' | 'content' | 'health'): boolean =>
  useSession().data?.scopes.includes(scope) ?? false

interface Organization {
  workspace: string
  organization: string
  name: string | null
  agents: string[]
}

export const useOrganizations = () =>
  useAnswer('organizations', async () => {
    const { organizations } = await getJson<{ organizations: Organization[] }>('v1/organizations')
    agentsOf.value = new Map(organizations.map(one => [`${one.workspace}/${one.organization}`, one.agents]))
    return organizations
  })

export interface AgentChange {
  workspace: string
  agent: string
  agentTitle: string | null
  day: string
  at: string
  fields: string[]
}

/** Changes of agents in a period of days. */
export const useAgentChanges = (period: { from: string; to: string } | null) =>
  useAnswer(period && `changes ${period.from} ${period.to}`, async () => {
    const search = new URLSearchParams({ from: period!.from, to: period!.to })
    return (await getJson<{ changes: AgentChange[] }>(`v1/agent-changes?${search}`)).changes
  })
