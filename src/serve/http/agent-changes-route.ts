// `GET /v1/agent-changes`: when agents were changed, for marks in charts. Neither values nor who changed them are in it.
import { z } from '@hono/zod-openapi'
import { rowsSql } from '../../metrics/statement.ts'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import { martRows } from '../tables.ts'
import type { Routes } from './app.ts'
import { choice, snapshotRoute } from './snapshot-route.ts'

const change = z
  .object({
    workspace: z.string(),
    agent: z.string(),
    agentTitle: z.string().nullable(),
    day: z.iso.date(),
    at: z.iso.datetime().openapi({ description: 'The first change of the day' }),
    fields: z.array(z.string()).openapi({ description: 'First parts of the paths of the changed fields' }),
  })
  .openapi('AgentChange')

export type AgentChange = z.infer<typeof change>

const ROUTE = {
  path: '/v1/agent-changes',
  summary: 'List the days on which agents were changed, with the changed fields',
  scopes: ['metrics'],
  in: 'query',
  given: z.strictObject({
    from: z.iso.date().openapi({ description: 'First local day' }),
    to: z.iso.date().openapi({ description: 'Last local day' }),
    workspace: choice,
    agent: choice,
  }),
  answer: { changes: z.array(change) },
} as const

export const agentChangesRoute = (readers: SnapshotReaders): Routes =>
  snapshotRoute(readers, ROUTE, ({ from, to, workspace, agent }) =>
    readers.reading(async (query, state) => {
      const filters = { ...(workspace && { workspace }), ...(agent && { agent }) }
      const sql = `SELECT workspace_id AS workspace, agent_id AS agent, any_value(agent_title) AS "agentTitle", day::VARCHAR AS day,
          min(changed_at) AS at, list_sort(list(DISTINCT field)) AS fields
        FROM marts.fct_agent_changes WHERE ${rowsSql('true', { period: { from, to }, before: null, filters })}
        GROUP BY workspace_id, agent_id, day ORDER BY day, workspace_id, agent_id`
      return { changes: await martRows(query, 'fct_agent_changes', sql), ...state }
    }),
  )
