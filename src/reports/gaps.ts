// What is known to be missing of a workspace: ranges that could not be read, and windows that are not finished.
import { quoteText } from '../catalog/layout.ts'
import { cover, gaps } from '../core/planning/coverage.ts'
import { type Gap, retryAtMs } from '../core/planning/gaps.ts'
import type { Writer } from '../warehouse/connection.ts'
import { readByAgent } from '../warehouse/planning/full-exports.ts'

type Reader = Pick<Writer, 'rows'>
/** A gap as the progress of a window records it. */
type RecordedGap = Omit<Gap, 'agentId' | 'retryAtMs'>

/** Recorded gaps and when each was last tried, newest first. The id is part of the SQL, since queries to the warehouse's holder allow no parameters. */
const recordedSql = (workspaceId: string): string => `
  SELECT w.agent_id AS "agentId", any_value(w.progress->'gap')::VARCHAR AS gap,
    epoch_ms(coalesce(max(r.sent_at), any_value(w.opened_at)))::VARCHAR AS tried
  FROM _windows w LEFT JOIN _requests r USING (workspace_id, agent_id, window_name)
  WHERE w.workspace_id = ${quoteText(workspaceId)} AND json_type(w.progress->'gap') = 'OBJECT'
  GROUP BY w.agent_id, w.window_name ORDER BY tried::BIGINT DESC, w.agent_id, w.window_name`

/** Ranges that could not be read and that nothing has read since, by the newest try of each; oldest range first within an agent. */
export async function readGaps(reader: Reader, workspaceId: string, nowMs: number): Promise<Gap[]> {
  const recorded = await reader.rows<{ agentId: string; gap: string; tried: string }>(recordedSql(workspaceId))
  if (recorded.length === 0) return []
  const claimed = new Map(await readByAgent(reader, workspaceId, nowMs))
  const found = recorded.flatMap(({ agentId, gap, tried }) => {
    const { fromSec, toSec, ...about } = JSON.parse(gap) as RecordedGap
    const range = { from: fromSec ?? 0, to: toSec }
    const read = claimed.get(agentId) ?? []
    claimed.set(agentId, cover(read, range))
    // A try in the future is one of a clock that was ahead.
    const retry = retryAtMs({ lastTriedMs: Math.min(Number(tried), nowMs), tries: about.tries })
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

/** Windows over time that a sync without flags continues: those of agents that exist, full exports apart. */
export async function unfinishedWindows(reader: Reader, workspaceId: string): Promise<number> {
  const [row] = await reader.rows<{ n: number }>(
    `SELECT count(*)::INTEGER AS n FROM _windows w JOIN agents a USING (workspace_id, agent_id)
     WHERE w.workspace_id = ${quoteText(workspaceId)} AND NOT w.done AND w.kind IN ('head', 'tail', 'reread')
       AND a._missing_since IS NULL`,
  )
  return row?.n ?? 0
}
