// `GET /v1/organizations`: which agents belong to which organization now, so that figures can be filtered by it.
import { z } from '@hono/zod-openapi'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import { martRows } from '../tables.ts'
import type { Routes } from './app.ts'
import { snapshotRoute } from './snapshot-route.ts'

const organization = z
  .object({
    workspace: z.string(),
    organization: z.string(),
    name: z.string().nullable(),
    agents: z.array(z.string()).openapi({ description: 'WORKSPACE/AGENT, as filters of metrics take them' }),
  })
  .openapi('Organization')

export type Organization = z.infer<typeof organization>

const ROUTE = {
  path: '/v1/organizations',
  summary: 'List organizations with the agents that are assigned to them now',
  scopes: ['metrics'],
  in: 'query',
  given: z.strictObject({}),
  answer: { organizations: z.array(organization) },
} as const

const SQL = `SELECT workspace_id AS workspace, organization_id AS organization, any_value(organization_name) AS name,
    list_sort(list(DISTINCT workspace_id || '/' || agent_id)) AS agents
  FROM marts.bridge_agent_organizations WHERE is_assigned GROUP BY ALL ORDER BY name, workspace, organization`

export const organizationsRoute = (readers: SnapshotReaders): Routes =>
  snapshotRoute(readers, ROUTE, () =>
    readers.reading(async (query, state) => ({
      organizations: await martRows(query, 'bridge_agent_organizations', SQL),
      ...state,
    })),
  )
