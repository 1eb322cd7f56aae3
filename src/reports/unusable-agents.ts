// Agents that cannot be exported.
import { isSegment } from '../client/address.ts'
import type { Rows } from '../warehouse/query/rows.ts'

/** Agents whose id cannot be part of a URL. */
export async function unusableAgents(rows: Rows): Promise<string[]> {
  const known = await rows<{ id: string }>('SELECT DISTINCT agent_id AS id FROM agents ORDER BY id')
  return known.map(({ id }) => id).filter(id => !isSegment(id))
}
