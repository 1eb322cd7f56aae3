// The ids in the tables by which resources are requested, and when each was last requested.
import { quoteText } from '../../catalog/layout.ts'
import { type DeclaredResource, requestedBy } from '../../catalog/resources/resources.ts'
import { iso, type Writer } from '../connection.ts'

export interface KnownId {
  id: string
  /** True if the newest answer contains the id; false if it is missing there, or known only from other tables or events. */
  isListed: boolean
  /** By stream of each resource that is requested by this id: when that resource is known to have changed, ms. */
  changedMs: Readonly<Record<string, number | null>>
}

/** Every id of the resource that a table holds and no event has deleted, sorted. */
export async function knownIds(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  resource: DeclaredResource,
  nowMs: number,
): Promise<KnownId[]> {
  const { column } = resource.record.id
  const { table } = resource.record
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const named = (resource.ids?.tables ?? [table]).map(each => `SELECT ${column} AS id FROM ${each} WHERE ${here}`)
  const streams = requestedBy(resource)
  // Ignores a change with a future date, which would be due again and again.
  const passed = (time: string) => `CASE WHEN ${time} <= TIMESTAMP '${iso(nowMs)}' THEN ${time} END`
  const changes = streams.map(
    ({ stream, freshness: { changedAt = [] } }) =>
      `, epoch_ms(greatest(${['NULL::TIMESTAMP', ...changedAt.map(passed)].join(', ')}))::VARCHAR AS ${stream}`,
  )
  const found = await rows<Record<string, string | boolean | null>>(
    `SELECT id, coalesce(_complete AND _missing_since IS NULL, false) AS listed${changes.join('')}
     FROM (${named.join(' UNION ')}) LEFT JOIN (FROM ${table} WHERE ${here}) ON ${column} = id
     WHERE id IS NOT NULL${resource.record.deletable ? ' AND _deleted_at IS NULL' : ''} ORDER BY id`,
  )
  return found.map(row => ({
    id: row.id as string,
    isListed: row.listed as boolean,
    changedMs: Object.fromEntries(
      streams.map(({ stream }) => [stream, row[stream] === null ? null : Number(row[stream])]),
    ),
  }))
}

/** When windows of each name were last requested, ms. The name is the part of `window` after the time at its beginning. */
export async function lastRequested(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  { stream }: DeclaredResource,
): Promise<Map<string, number>> {
  const requested = await rows<{ name: string; at: string }>(
    `SELECT substr(window_name, strpos(window_name, '-') + 1) AS name, epoch_ms(max(sent_at))::VARCHAR AS at FROM _requests
     WHERE workspace_id = ${quoteText(workspaceId)} AND stream = ${quoteText(stream)} GROUP BY ALL`,
  )
  return new Map(requested.map(({ name, at }) => [name, Number(at)]))
}
