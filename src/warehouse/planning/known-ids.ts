// Ids in the tables by which resources are requested, and the last request of each.
import { quoteText } from '../../catalog/layout.ts'
import { type DeclaredResource, idsInPath, requestedBy } from '../../catalog/resources/resources.ts'
import { iso, type Writer } from '../connection.ts'

export interface KnownId {
  /** One id per placeholder of the path; empty for a resource of the whole workspace. */
  ids: readonly string[]
  /** True if the newest answer contains the id; false if it is missing there, or known only from other tables or events. */
  isListed: boolean
  /** Time of the last known change, ms, by stream of each resource that is requested by this id. */
  changedMs: Readonly<Record<string, number | null>>
}

/**
 * Returns every id of the resource that a table has and no event has deleted, sorted. Ids of an agent's records come
 * with the agent's id, and only while the vendor lists the agent.
 */
export async function knownIds(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  resource: DeclaredResource,
  nowMs: number,
): Promise<KnownId[]> {
  const streams = requestedBy(resource)
  if (streams.every(stream => idsInPath(stream) === 0)) return [{ ids: [], isListed: true, changedMs: {} }]
  const { table, perAgent, id } = resource.record
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const key = [...(perAgent ? ['agent_id'] : []), id.column].join(', ')
  const named = (resource.ids?.tables ?? [table]).map(each => `SELECT ${key} FROM ${each} WHERE ${here}`)
  if (named.length === 0) return []
  const listedAgents = `SELECT agent_id FROM agents WHERE ${here} AND _complete AND _missing_since IS NULL AND _deleted_at IS NULL`
  // Ignores changes with a future date, which would be due again and again.
  const passed = (time: string) => `CASE WHEN ${time} <= TIMESTAMPTZ '${iso(nowMs)}' THEN ${time} END`
  const changes = streams.map(
    ({ stream, freshness: { changedAt = [] } }) =>
      `, epoch_ms(greatest(${['NULL::TIMESTAMPTZ', ...changedAt.map(passed)].join(', ')}))::DOUBLE AS ${stream}`,
  )
  const found = await rows<Record<string, number | boolean | string[] | null>>(
    `SELECT [${key}] AS ids, coalesce(_complete AND _missing_since IS NULL, false) AS listed${changes.join('')}
     FROM (${named.join(' UNION ')}) LEFT JOIN (FROM ${table} WHERE ${here}) USING (${key})
     WHERE ${id.column} IS NOT NULL${resource.record.deletable ? ' AND _deleted_at IS NULL' : ''}${perAgent ? ` AND agent_id IN (${listedAgents})` : ''} ORDER BY ids`,
  )
  return found.map(row => ({
    ids: row.ids as string[],
    isListed: row.listed as boolean,
    changedMs: Object.fromEntries(streams.map(({ stream }) => [stream, row[stream] as number | null])),
  }))
}

export interface LastRequest {
  atMs: number
  /** HTTP status of the answer. */
  status: number
}

/** Returns the last requests for windows of each name: the part of `window` after the leading time. */
export async function lastRequested(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  { stream }: DeclaredResource,
): Promise<Map<string, LastRequest>> {
  const requested = await rows<LastRequest & { name: string }>(
    `SELECT substr(window_name, strpos(window_name, '-') + 1) AS name, epoch_ms(max(sent_at))::DOUBLE AS "atMs",
       arg_max(status, sent_at)::DOUBLE AS status FROM _requests
     WHERE workspace_id = ${quoteText(workspaceId)} AND stream = ${quoteText(stream)} GROUP BY ALL`,
  )
  return new Map(requested.map(({ name, ...last }) => [name, last]))
}

/** Returns the second of an agent's newest stored audit log entry, ignoring future dates; null if none is stored. */
export async function newestEntrySec(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  agentId: string,
): Promise<number | null> {
  const [row] = await rows<{ sec: number | null }>(
    `SELECT floor(epoch(max(changed_at)))::DOUBLE AS sec FROM audit_log
     WHERE workspace_id = $workspace AND agent_id = $agent AND changed_at <= _fetched_at`,
    { workspace: workspaceId, agent: agentId },
  )
  return row!.sec
}
