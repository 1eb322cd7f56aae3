// Which organizations the tables name, and when each was last asked for. Whoever keeps another table that names some adds it here.
import { quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'

export interface KnownOrganization {
  id: string
  /** True where its newest answer told it: one that is missing, or was never told, has no teams to ask for. */
  told: boolean
  /** When it is known to have changed, and was not told since, ms. */
  changedMs: number | null
}

/** Tables that name organizations, in `organization_id`. */
const NAMING = ['conversation_handoffs', 'organizations', 'teams', 'clients']

/** Every organization that a table names and nobody has deleted, in the order of their ids. */
export async function knownOrganizations(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
): Promise<KnownOrganization[]> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const named = NAMING.map(table => `SELECT organization_id AS id FROM ${table} WHERE ${here}`).join(' UNION ')
  const found = await rows<{ id: string; told: boolean; changed: string | null }>(
    `SELECT id, coalesce(_complete AND _missing_since IS NULL, false) AS told, epoch_ms(_dirty_since)::VARCHAR AS changed
     FROM (${named}) LEFT JOIN (FROM organizations WHERE ${here}) ON organization_id = id
     WHERE id IS NOT NULL AND _deleted_at IS NULL ORDER BY id`,
  )
  return found.map(({ id, told, changed }) => ({ id, told, changedMs: changed === null ? null : Number(changed) }))
}

/** Streams of the landing that organizations are asked for in. */
export type AskedStream = 'organizations' | 'teams'

/** When each window's name was last asked under, ms: by what stands behind the time at its beginning. */
export async function lastAsked(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  stream: AskedStream,
): Promise<Map<string, number>> {
  const asked = await rows<{ name: string; at: string }>(
    `SELECT substr("window", strpos("window", '-') + 1) AS name, epoch_ms(max(sent_at))::VARCHAR AS at FROM _requests
     WHERE workspace_id = ${quoteText(workspaceId)} AND stream = ${quoteText(stream)} GROUP BY ALL`,
  )
  return new Map(asked.map(({ name, at }) => [name, Number(at)]))
}
