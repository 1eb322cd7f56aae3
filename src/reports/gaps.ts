// Reads the known gaps of a workspace: ranges that could not be read, and windows that are not finished.
import { conversation } from '../catalog/conversation/conversation.ts'
import { quoteText } from '../catalog/layout.ts'
import { cover, gaps } from '../core/planning/coverage.ts'
import { type Gap, retryAtMs } from '../core/planning/gaps.ts'
import type { Writer } from '../warehouse/connection.ts'
import { readByAgent } from '../warehouse/planning/full-exports.ts'

type Reader = Pick<Writer, 'rows'>

/** An agent whose exports fail while those of other agents succeed. */
type LeftAgent = Omit<Gap, 'fromSec' | 'toSec'>

/** Returns the agents that runs have left since the vendor last answered one of their exports. */
export async function readLeftAgents(reader: Reader, workspaceId: string): Promise<LeftAgent[]> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const rows = await reader.rows<Omit<LeftAgent, 'retryAtMs'> & { lastTriedMs: number }>(`
    WITH left_agents AS (
      SELECT unnest(from_json(agents_left, '[{"agentId":"VARCHAR","code":"VARCHAR","what":"VARCHAR"}]')) AS agent, ended_at
      FROM _runs WHERE ${here} AND agents_left IS NOT NULL
    ), answered AS (
      SELECT agent_id, max(sent_at) AS at FROM _requests WHERE ${here} AND stream = 'conversations' AND status = 200 GROUP BY ALL
    )
    SELECT agent.agentId AS "agentId", arg_max(agent.code, ended_at) AS code, arg_max(agent.what, ended_at) AS what,
      epoch_ms(min(ended_at))::DOUBLE AS "sinceMs", epoch_ms(max(ended_at))::DOUBLE AS "lastTriedMs", count(*)::DOUBLE AS tries
    FROM left_agents LEFT JOIN answered ON answered.agent_id = agent.agentId
    WHERE ended_at > coalesce(answered.at, '-infinity'::TIMESTAMPTZ) GROUP BY ALL ORDER BY ALL`)
  return rows.map(({ lastTriedMs, ...agent }) => ({
    ...agent,
    retryAtMs: retryAtMs({ lastTriedMs, tries: agent.tries - 1 }),
  }))
}

/** A gap as recorded in the progress of a window. */
type RecordedGap = Omit<Gap, 'agentId' | 'retryAtMs'>

/** Returns the SQL of recorded gaps with their last tries, newest first. It contains the id, since the holder allows no parameters. */
const recordedSql = (workspaceId: string): string => `
  SELECT w.agent_id AS "agentId", any_value(w.progress->'gap')::VARCHAR AS gap,
    epoch_ms(coalesce(max(r.sent_at), any_value(w.opened_at)))::DOUBLE AS tried
  FROM _windows w LEFT JOIN _requests r USING (workspace_id, agent_id, window_name)
  WHERE w.workspace_id = ${quoteText(workspaceId)} AND json_type(w.progress->'gap') = 'OBJECT'
  GROUP BY w.agent_id, w.window_name ORDER BY tried DESC, w.agent_id, w.window_name`

/** Returns everything that could not be read: ranges, and the unread time of agents that the vendor refuses. */
export async function readGaps(reader: Reader, workspaceId: string, nowMs: number): Promise<Gap[]> {
  const ranges = await readRangeGaps(reader, workspaceId, nowMs)
  const left = await readLeftAgents(reader, workspaceId)
  if (left.length === 0) return ranges
  const read = await readByAgent(reader, workspaceId, nowMs)
  const toSec = Math.floor(nowMs / 1_000)
  return [
    ...ranges,
    ...left.map(agent => ({ ...agent, fromSec: (read.get(agent.agentId)?.at(-1)?.to ?? -1) + 1 || null, toSec })),
  ]
}

/** Returns ranges that could not be read and still are unread, by their newest try; oldest range first within an agent. */
export async function readRangeGaps(reader: Reader, workspaceId: string, nowMs: number): Promise<Gap[]> {
  const recorded = await reader.rows<{ agentId: string; gap: string; tried: number }>(recordedSql(workspaceId))
  if (recorded.length === 0) return []
  const claimed = new Map(await readByAgent(reader, workspaceId, nowMs))
  const found = recorded.flatMap(({ agentId, gap, tried }) => {
    const { fromSec, toSec, ...about } = JSON.parse(gap) as RecordedGap
    const range = { from: fromSec ?? 0, to: toSec }
    const read = claimed.get(agentId) ?? []
    claimed.set(agentId, cover(read, range))
    // A try dated in the future comes from a clock that was ahead.
    const retry = retryAtMs({ lastTriedMs: Math.min(tried, nowMs), tries: about.tries })
    return gaps(read, range).map(({ from, to }) => ({
      agentId,
      fromSec: from <= 0 ? null : from,
      toSec: to,
      ...about,
      retryAtMs: retry,
    }))
  })
  return found.sort((a, b) => (a.agentId < b.agentId ? -1 : a.agentId > b.agentId ? 1 : a.toSec - b.toSec))
}

/** Counts the windows over time that a sync without flags continues: those of existing agents, except full exports. */
export async function unfinishedWindows(reader: Reader, workspaceId: string): Promise<number> {
  const [row] = await reader.rows<{ n: number }>(
    `SELECT count(*)::INTEGER AS n FROM _windows w JOIN agents a USING (workspace_id, agent_id)
     WHERE w.workspace_id = ${quoteText(workspaceId)} AND NOT w.done AND w.kind IN ('head', 'tail', 'reread')
       AND a._missing_since IS NULL`,
  )
  return row?.n ?? 0
}

/** Counts the conversation records in the quarantine, which were exported and are in no table. */
export async function unusableConversations(reader: Reader, workspaceId: string): Promise<number> {
  const [row] = await reader.rows<{ n: number }>(
    `SELECT count(*)::INTEGER AS n FROM _quarantine
     WHERE workspace_id = ${quoteText(workspaceId)} AND record = ${quoteText(conversation.name)}`,
  )
  return row?.n ?? 0
}

/** Returns the sessions that repeated requests for gaps may have billed for unreadable pages since `sinceMs`. */
export async function billedForGaps(reader: Reader, workspaceId: string, sinceMs: number): Promise<number> {
  const [row] = await reader.rows<{ n: number }>(
    `SELECT coalesce(sum((progress->'gap'->>'billedUpTo')::DOUBLE), 0)::DOUBLE AS n FROM _windows
     WHERE workspace_id = ${quoteText(workspaceId)} AND epoch_ms(opened_at) >= ${sinceMs} AND (progress->'gap'->>'tries')::INTEGER > 0`,
  )
  return row?.n ?? 0
}
