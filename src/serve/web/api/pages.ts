// What the server tells about itself and the reader: pages, scopes, agents and their changes, quota, tables.
import type { Scope } from '../../access/tokens.ts'
import type { AgentChange } from '../../http/agent-changes-route.ts'
import type { Organization } from '../../http/organizations-route.ts'
import type { WorkspaceQuota } from '../../http/quota-route.ts'
import type { Session } from '../../http/session-routes.ts'
import type { Page, Tile, TileOf } from '../../pages/page-format.ts'
import type { DescribedTable } from '../../tables.ts'
import { agentsOf } from '../state/filters.ts'
import { getJson } from './client.ts'
import { useAnswer } from './resource.ts'

export type { AgentChange, DescribedTable, Page, Tile, WorkspaceQuota }
export type MetricsTile = TileOf<'metrics'>
export type TableTile = TileOf<'table'>
export type SqlTile = TileOf<'sql'>
export type ShowTile = TileOf<'show'>

export const usePages = () => useAnswer('pages', () => getJson<{ pages: Page[]; problems: string[] }>('v1/pages'))

export const useSession = () => useAnswer('session', () => getJson<Session>('v1/session'))

export const useMay = (scope: Scope): boolean => useSession().data?.scopes.includes(scope) ?? false

export const useOrganizations = () =>
  useAnswer('organizations', async () => {
    const { organizations } = await getJson<{ organizations: Organization[] }>('v1/organizations')
    agentsOf.value = new Map(organizations.map(one => [`${one.workspace}/${one.organization}`, one.agents]))
    return organizations
  })

/** Changes of agents in a period of days. */
export const useAgentChanges = (period: { from: string; to: string } | null) => {
  const search = period && String(new URLSearchParams({ from: period.from, to: period.to }))
  return useAnswer(
    search && `changes ${search}`,
    async () => (await getJson<{ changes: AgentChange[] }>(`v1/agent-changes?${search}`)).changes,
  )
}

/** The quota of the running billing period. */
export const useQuota = () =>
  useAnswer('quota', async () => (await getJson<{ workspaces: WorkspaceQuota[] }>('v1/quota')).workspaces)

/** The tables that the reader's SQL sees. */
export const useTables = () =>
  useAnswer('tables', async () => (await getJson<{ tables: DescribedTable[] }>('v1/tables')).tables)
