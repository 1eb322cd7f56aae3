// What refreshes without a new message have found: each record is compared with the conversation's export before it. Only landed pages are
// compared, never rows, so that a replay finds the same, in whatever order it applies exports and events.
import { canonicalJson } from '../../json/canonical.ts'
import { iso } from '../connection.ts'
import type { LoadablePage, LoadContext } from './load-input.ts'

type Json = Readonly<Record<string, unknown>>

/** Fields whose change does not count: the record's version, and fields that nobody analyzes (times of looking at it, pending states). */
export const NOT_ANALYZED: ReadonlySet<string> = new Set(
  'lastModified lastViewed funnelLastEvaluated pendingAiReplyAt isTyping'.split(' '),
)

/** The keys of two records whose values differ, sorted. A missing value equals null. */
const changedKeys = (before: Json, after: Json): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter(key => !NOT_ANALYZED.has(key) && canonicalJson(before[key] ?? null) !== canonicalJson(after[key] ?? null))
    .sort()

/** The records of a landed page, by id. */
async function recordsIn({ readBody }: LoadContext, address: string): Promise<Map<string, Json>> {
  const { data } = JSON.parse(new TextDecoder().decode(await readBody(address))) as { data: (Json | null)[] }
  return new Map(data.flatMap(record => (record?.ID == null ? [] : [[String(record.ID), record] as const])))
}

/** Landed pages that may hold the last export before $before of conversations in $ids: it does not distinguish pages of one millisecond. */
const PREVIOUS = `SELECT file, list(id) AS ids FROM (
    SELECT r.file, o.conversation_id AS id FROM conversation_observations o JOIN _requests r
      ON r.workspace_id = o.workspace_id AND r.agent_id = o.agent_id AND r.sent_at = o.observed_at AND r.kind = o.kind
    WHERE o.workspace_id = $workspace AND o.agent_id = $agent AND o.source = 'export' AND o.observed_at < $before::TIMESTAMPTZ
      AND o.conversation_id IN (SELECT unnest(from_json($ids::JSON, '["VARCHAR"]')))
    QUALIFY rank() OVER (PARTITION BY o.conversation_id ORDER BY o.observed_at DESC) = 1)
  GROUP BY file ORDER BY file`

/** Stores what the measured refreshes in a page have found, in the transaction that loads it. */
export async function storeFindings(context: LoadContext, { address, head }: LoadablePage): Promise<void> {
  const { writer, workspaceId: workspace } = context
  const { agentId: agent, known = [] } = head.facts?.window ?? {}
  if (agent === undefined || known.length === 0 || head.facts?.returned === 0) return
  const refreshed = await recordsIn(context, address)
  const [before, ids] = [iso(head.sentAtServerMs), JSON.stringify(known.filter(id => refreshed.has(id)))]
  const previous = await writer.rows<{ file: string; ids: string[] }>(PREVIOUS, { workspace, agent, before, ids })
  const found = new Map<string, string[]>()
  for (const { file, ids } of previous) {
    // Retention may have removed the earlier page: then nothing can be compared.
    const records = await recordsIn(context, file).catch(() => new Map<string, Json>())
    for (const id of ids) if (records.has(id)) found.set(id, changedKeys(records.get(id)!, refreshed.get(id)!))
  }
  const key = { workspace_id: workspace, agent_id: agent, requested_at: before }
  const rows = [...found].map(([id, changed]) => ({ ...key, conversation_id: id, changed }))
  await writer.append('_measured_refreshes', rows)
}
