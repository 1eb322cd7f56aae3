// Records that an answer says are not there any more: their rows stay, and say since when. What answers say is kept
// (`_absences`), and the marks are worked out from all of it: so they do not depend on whether a row was there when the answer came.
import { quoteText } from '../../catalog/layout.ts'
import { unansweredOf } from '../../core/unanswered.ts'
import { iso, type Row, type Writer } from '../connection.ts'
import type { LoadContext } from './load-context.ts'
import type { LoadablePage } from './load-input.ts'

/** When the listing that ends with this page began; null where not all of it is here, as after a kill while it landed. */
function begunMs(pages: readonly LoadablePage[], { head }: LoadablePage): number | null {
  const { stream, window, sequence } = head.place
  const sameListing = pages.filter(({ head: { place } }) => place.stream === stream && place.window === window)
  return sameListing.length < sequence ? null : Math.min(...sameListing.map(page => page.head.sentAtServerMs))
}

type Absence = Pick<Row, 'record' | 'owner' | 'id'> & { beforeMs: number; asOfMs?: number; verdict?: string }

/** What a page says is not there. */
function absencesOf(pages: readonly LoadablePage[], page: LoadablePage, mirrorLagMs: number): Absence[] {
  const { place, lastPage, status, facts, goneAgentId, organizationId: owner, sentAtServerMs: sentMs } = page.head
  const gone = { beforeMs: sentMs }
  if (goneAgentId !== undefined) return [{ record: 'agents', owner: '', id: goneAgentId, ...gone }]
  // Conversations that were asked for by id and not answered.
  if (facts && facts.missing.length > 0) {
    const told = unansweredOf(facts)
    const [away, notExportable] = [new Set(told.gone), new Set(told.notExportable)]
    return facts.missing.map(id => ({
      ...{ record: 'conversations', owner: facts.window.agentId, id },
      verdict: away.has(id) ? 'gone' : notExportable.has(id) ? 'not exportable' : 'unknown',
      ...{ ...gone, asOfMs: sentMs - mirrorLagMs },
    }))
  }
  // An organization that is not there takes its teams with it.
  if (place.stream === 'organizations' && status === 404 && owner !== undefined)
    return [
      { record: 'organizations', owner: '', id: owner, ...gone },
      { record: 'teams', owner, id: null, ...gone },
    ]
  // A complete listing tells which agents, or which teams of an organization, are gone: those that it did not tell of.
  const beforeMs = lastPage ? begunMs(pages, page) : null
  if (beforeMs === null) return []
  if (place.stream === 'agents') return [{ record: 'agents', owner: '', id: null, beforeMs }]
  return place.stream === 'teams' && owner !== undefined ? [{ record: 'teams', owner, id: null, beforeMs }] : []
}

const T = 'VARCHAR'
const AT = 'TIMESTAMP'
const COLUMNS = {
  workspace_id: T,
  record: T,
  owner: T,
  id: T,
  verdict: T,
  file: T,
  before_at: AT,
  since: AT,
  as_of: AT,
}

const absenceRows = ({ workspaceId, mirrorLagMs }: LoadContext, pages: readonly LoadablePage[]): Row[] =>
  pages.flatMap(page =>
    absencesOf(pages, page, mirrorLagMs).map(({ beforeMs, asOfMs = beforeMs, verdict = 'gone', ...absence }) => ({
      ...{ workspace_id: workspaceId, ...absence, verdict, file: page.address },
      ...{ before_at: iso(beforeMs), since: iso(page.head.sentAtServerMs), as_of: iso(asOfMs) },
    })),
  )

const LISTED = {
  agents: { id: 'agent_id', owner: `''` },
  organizations: { id: 'organization_id', owner: `''` },
  teams: { id: 'team_id', owner: `coalesce(t.organization_id, '')` },
}
type Listed = keyof typeof LISTED

/** Tables of which listings and single answers tell; they are small. */
export const isListed = (table: string): table is Listed => Object.hasOwn(LISTED, table)

/** Marks the rows of such a table, inside the caller's transaction: each since the first absence behind the last that was seen of it. */
export async function markListed(writer: Writer, workspaceId: string, table: Listed): Promise<void> {
  const { id, owner } = LISTED[table]
  await writer.run(`UPDATE ${table} AS r SET _missing_since = m.since
    FROM (
      SELECT t.${id} AS id, min(a.since) AS since FROM ${table} t LEFT JOIN _absences a
        ON a.workspace_id = t.workspace_id AND a.record = ${quoteText(table)} AND a.owner = ${owner}
          AND CASE WHEN a.id IS NULL THEN a.before_at > coalesce(t._fetched_at, t._version)
            ELSE a.id = t.${id} AND a.before_at >= coalesce(t._fetched_at, t._version) END
      WHERE t.workspace_id = ${quoteText(workspaceId)} GROUP BY ALL) m
    WHERE r.workspace_id = ${quoteText(workspaceId)} AND r.${id} = m.id AND r._missing_since IS DISTINCT FROM m.since`)
}

/**
 * Marks conversations of `keys`, an SQL relation of (agent_id, conversation_id), inside the caller's transaction. One that was
 * asked for later than the change that made it dirty is not asked for again.
 */
export async function markUnanswered(writer: Writer, workspaceId: string, keys: string): Promise<void> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  await writer.run(`CREATE OR REPLACE TEMP TABLE absent AS
    SELECT owner AS agent_id, id AS conversation_id, verdict, before_at, since, as_of FROM _absences
    WHERE ${here} AND record = 'conversations' AND (owner, id) IN (${keys})`)
  const [any] = await writer.rows('SELECT 1 FROM absent LIMIT 1')
  if (!any) return
  await writer.run(`UPDATE conversations AS c SET _missing_since = m.missing_since, _not_exportable_since = m.not_exportable_since,
      _dirty_since = CASE WHEN c._changed_at >= m.as_of AND (NOT c._complete OR c._changed_at >= c._as_of) THEN c._changed_at END
    FROM (
      SELECT agent_id, conversation_id, max(as_of) AS as_of,
        min(since) FILTER (verdict = 'gone' AND is_after AND coalesce(before_at > exportable_not, true)) AS missing_since,
        min(since) FILTER (verdict = 'not exportable' AND is_after AND coalesce(before_at > gone, true)) AS not_exportable_since
      FROM (SELECT a.*, a.before_at > greatest(r._fetched_at, s.seen_at) AS is_after,
        max(a.before_at) FILTER (a.verdict = 'gone') OVER (PARTITION BY a.agent_id, a.conversation_id) AS gone,
        max(a.before_at) FILTER (a.verdict = 'not exportable') OVER (PARTITION BY a.agent_id, a.conversation_id) AS exportable_not
      FROM absent a
      JOIN conversations r ON r.${here} AND r.agent_id = a.agent_id AND r.conversation_id = a.conversation_id
      LEFT JOIN (
        SELECT agent_id, conversation_id, max(observed_at) AS seen_at FROM conversation_observations
        WHERE ${here} AND source = 'export' AND (agent_id, conversation_id) IN (SELECT agent_id, conversation_id FROM absent)
        GROUP BY ALL) s ON s.agent_id = a.agent_id AND s.conversation_id = a.conversation_id)
      GROUP BY ALL) m
    WHERE c.${here} AND c.agent_id = m.agent_id AND c.conversation_id = m.conversation_id`)
}

/** What a stream's pages say of other tables. */
const TABLES_OF: Record<string, readonly Listed[]> = {
  agents: ['agents'],
  organizations: ['organizations', 'teams'],
  teams: ['teams'],
}

/**
 * Keeps what a batch's pages say is missing, and marks it, inside the caller's transaction, when its records are written. `staged`:
 * whether the batch had records, whose keys are in `incoming`.
 */
export async function markMissing(
  context: LoadContext,
  pages: readonly LoadablePage[],
  staged: boolean,
): Promise<void> {
  const { writer, workspaceId } = context
  const rows = absenceRows(context, pages)
  if (rows.length > 0) await writer.append('_absences', COLUMNS, rows)
  const [first] = pages
  for (const table of TABLES_OF[first?.head.place.stream ?? ''] ?? []) await markListed(writer, workspaceId, table)
  if (first?.head.place.stream !== 'conversations') return
  const files = pages
    .filter(({ head }) => head.facts && head.facts.missing.length > 0)
    .map(({ address }) => quoteText(address))
  const asked = files.length > 0 ? [`SELECT owner, id FROM _absences WHERE file IN (${files.join(', ')})`] : []
  const keys = [...asked, ...(staged ? ['SELECT agent_id, id FROM incoming'] : [])]
  if (keys.length > 0) await markUnanswered(writer, workspaceId, keys.join(' UNION '))
}
