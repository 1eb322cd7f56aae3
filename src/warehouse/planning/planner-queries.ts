// Queries of the planner besides coverage: unfinished windows, agents, their density of conversations, and the billing
// periods and keys that landed answers have reported.
import { quoteText } from '../../catalog/layout.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import type { Density } from '../../core/planning/estimate.ts'
import { backoffUntilMs, MAX_IDLE_PAGES } from '../../core/planning/no-progress.ts'
import { observedSince } from '../../core/planning/planner.ts'
import type { WindowProgress } from '../../core/planning/windows.ts'
import type { ReportedPeriod } from '../../core/quota/billing-period.ts'
import { INCLUDED_SESSIONS, PACK_SESSIONS } from '../../core/quota/quota.ts'
import { iso, type Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'

/** Returns unfinished windows, oldest first. */
export async function openWindows(writer: Writer, workspaceId: string): Promise<WindowProgress[]> {
  const rows = await writer.rows<{ progress: string }>(
    'SELECT progress FROM _windows WHERE workspace_id = $workspace AND NOT done ORDER BY opened_at, window_name',
    { workspace: workspaceId },
  )
  return rows.map(row => JSON.parse(row.progress) as WindowProgress)
}

export interface PausedWindow {
  agentId: string
  window: string
  untilMs: number
}

/** Returns unfinished windows that are paused until `untilMs`, since their requests made no progress. */
export async function pausedWindows(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  nowMs: number,
): Promise<PausedWindow[]> {
  const retried = await rows<{ progress: string; sent: number }>(
    `SELECT any_value(w.progress)::VARCHAR AS progress, epoch_ms(max(r.sent_at))::DOUBLE AS sent
     FROM _windows w JOIN _requests r USING (workspace_id, agent_id, window_name)
     WHERE w.workspace_id = ${quoteText(workspaceId)} AND NOT w.done AND (w.progress->>'idle')::DOUBLE >= ${MAX_IDLE_PAGES}
     GROUP BY w.agent_id, w.window_name ORDER BY w.agent_id, w.window_name`,
  )
  return retried.flatMap(({ progress, sent }) => {
    const read = JSON.parse(progress) as WindowProgress
    const untilMs = backoffUntilMs(read, sent, nowMs)
    return untilMs === null ? [] : [{ agentId: read.window.agentId, window: read.window.name, untilMs }]
  })
}

/** Returns conversations per day over the last weeks, and sessions per conversation, by agent. */
export async function densityByAgent(
  reader: Pick<Writer, 'rows'>,
  workspaceId: string,
  nowMs: number,
): Promise<Map<string, Density>> {
  const params = { workspace: workspaceId, since: iso(observedSince(nowMs)), now: iso(nowMs) }
  const rows = await reader.rows<Density & { agentId: string }>(sqlFile('planning/conversation_density'), params)
  return new Map(rows.map(({ agentId, ...density }) => [agentId, density]))
}

export interface KnownAgent {
  agentId: string
  title: string | null
  /** True if the newest loaded listing contains the agent. */
  isListed: boolean
  /** Times of 404 answers to its export since it last answered otherwise, ms, in any order. */
  refusedMs: number[]
}

/** Returns agents that a listing or event has named and no later event has deleted. */
export const knownAgents = ({ rows }: Pick<Writer, 'rows'>, workspaceId: string): Promise<KnownAgent[]> =>
  rows(sqlFile('planning/known_agents'), { workspace: workspaceId, listing: `-${AGENTS.landedAs}-` })

/** Returns agents that are marked as gone. */
export async function goneAgents({ rows }: Pick<Writer, 'rows'>, workspaceId: string): Promise<string[]> {
  const gone = await rows<{ id: string }>(
    `SELECT agent_id AS id FROM agents WHERE workspace_id = ${quoteText(workspaceId)} AND _missing_since IS NOT NULL`,
  )
  return gone.map(({ id }) => id)
}

/** Returns the agent of each of these conversations; omits unknown ids. */
export async function agentsOfConversations(
  writer: Writer,
  workspaceId: string,
  ids: readonly string[],
): Promise<{ id: string; agentId: string }[]> {
  return writer.rows(
    `SELECT conversation_id AS id, agent_id AS "agentId" FROM conversations
     WHERE workspace_id = $workspace AND conversation_id IN (SELECT unnest(from_json($ids::JSON, '["VARCHAR"]')))`,
    { workspace: workspaceId, ids: JSON.stringify(ids) },
  )
}

/**
 * Returns, by agent, the last second that may contain a conversation. It is that of a stored one (its export time if
 * `ts` is absent or ahead), of a page with skipped ones, or of a window with records without usable `ts` or `ID`.
 */
export async function seenThrough(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  nowMs: number,
): Promise<Map<string, number>> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const now = `TIMESTAMPTZ '${iso(nowMs)}'`
  const seen = await rows<{ agentId: string; sec: number }>(
    `SELECT agent_id AS "agentId", floor(epoch(max(moment)))::DOUBLE AS sec FROM (
       SELECT agent_id, max(least(ts, _fetched_at)) AS moment FROM conversations WHERE ${here} GROUP BY ALL
       UNION ALL SELECT agent_id, max(to_at) FROM _requests WHERE ${here} AND scanned > returned AND to_at <= ${now} GROUP BY ALL
       UNION ALL SELECT agent_id, max(to_at) FROM _windows WHERE ${here} AND (progress->'undated') IS NOT NULL AND to_at <= ${now} GROUP BY ALL
     ) WHERE moment IS NOT NULL GROUP BY ALL ORDER BY ALL`,
  )
  return new Map(seen.map(({ agentId, sec }) => [agentId, sec]))
}

interface StoredProvider {
  successMs: number | null
  failureMs: number | null
  error: string | null
}

export async function storedProviders(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
): Promise<Map<string, StoredProvider>> {
  const stored = await rows<StoredProvider & { provider: string }>(
    `SELECT provider, epoch_ms(last_success_at)::DOUBLE AS "successMs", epoch_ms(last_failure_at)::DOUBLE AS "failureMs",
       last_error AS error FROM voice_providers WHERE workspace_id = $workspace`,
    { workspace: workspaceId },
  )
  return new Map(stored.map(({ provider, ...answered }) => [provider, answered]))
}

/** Returns the reports of loaded pages on the newest periods. The last one is reported by most of the newest pages. */
export const reportedPeriods = (writer: Writer, workspaceId: string): Promise<ReportedPeriod[]> =>
  writer.rows(sqlFile('planning/reported_periods'), {
    workspace: workspaceId,
    included: INCLUDED_SESSIONS,
    pack: PACK_SESSIONS,
  })

/** Returns when `periodKey` was first reported, ms; null if it never was. */
export async function periodSinceMs(
  writer: Writer,
  workspaceId: string,
  periodKey: string | null,
): Promise<number | null> {
  if (periodKey === null) return null
  const [row] = await writer.rows<{ since: number | null }>(
    'SELECT epoch_ms(min(reported_at))::DOUBLE AS since FROM _quota WHERE workspace_id = $workspace AND period_key = $key',
    { workspace: workspaceId, key: periodKey },
  )
  return row!.since
}
