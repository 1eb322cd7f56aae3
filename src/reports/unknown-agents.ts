// Ids of agents in the configuration that are most likely mistyped.
import { quoteText } from '../catalog/layout.ts'
import type { ServiceLevel } from '../core/response-rules.ts'
import type { Rows } from '../warehouse/query/rows.ts'

/** Ids in `agents` of service levels that the workspace has no agent of, also none that is gone; none while no agent is known at all. */
export async function unknownAgents(
  rows: Rows,
  workspaceId: string,
  levels: readonly Pick<ServiceLevel, 'agents'>[],
): Promise<string[]> {
  const named = [...new Set(levels.flatMap(({ agents }) => agents ?? []))]
  if (named.length === 0) return []
  const here = `WHERE workspace_id = ${quoteText(workspaceId)}`
  const found = await rows<{ id: string }>(
    `SELECT agent_id AS id FROM agents ${here} UNION SELECT agent_id FROM conversations ${here}`,
  )
  const known = new Set(found.map(({ id }) => id))
  return known.size === 0 ? [] : named.filter(id => !known.has(id))
}
