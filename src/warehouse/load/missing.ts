// Marks records that the vendor no longer has: their rows stay, with the time since when they are missing. The evidence of each answer
// is stored in `_absences`. The marks derive from all evidence, so it does not matter whether a row or the answer was loaded first.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { layoutOf, quoteText, sameKey } from '../../catalog/layout.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import { childrenOf, type DeclaredResource, resourceOf, type Stream } from '../../catalog/resources/resources.ts'
import { unansweredOf } from '../../core/planning/window-ids.ts'
import type { PageFacts } from '../../core/planning/windows.ts'
import { logChanges } from '../changes/log-changes.ts'
import { iso, type Row, type Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'
import type { LoadablePage, LoadContext } from './load-input.ts'

/** Returns when the listing ending with this page began; null if some pages are missing, as after a kill. */
function begunMs(pages: readonly LoadablePage[], { head }: LoadablePage): number | null {
  const { stream, window, sequence } = head.place
  const sameListing = pages.filter(({ head: { place } }) => place.stream === stream && place.window === window)
  return sameListing.length < sequence ? null : Math.min(...sameListing.map(page => page.head.sentAtServerMs))
}

type Absence = Pick<Row, 'record' | 'owner' | 'id'> & { beforeMs: number; asOfMs?: number; verdict?: string }

/** Returns the absences for which a page is evidence. */
function absencesOf(pages: readonly LoadablePage[], page: LoadablePage, mirrorLagMs: number): Absence[] {
  const { place, facts, goneAgentId, sentAtServerMs: sentMs } = page.head
  if (goneAgentId !== undefined) return [{ record: AGENTS.record.table, owner: '', id: goneAgentId, beforeMs: sentMs }]
  if (facts) return unansweredIds(facts, sentMs, mirrorLagMs)
  const resource = resourceOf(place.stream)
  return resource ? absencesOfResource(resource, pages, page) : []
}

/** Returns conversations that were requested by id and not returned. */
function unansweredIds(facts: PageFacts, sentMs: number, mirrorLagMs: number): Absence[] {
  const unanswered = unansweredOf(facts)
  const [gone, notExportable] = [new Set(unanswered.gone), new Set(unanswered.notExportable)]
  return facts.missing.map(id => ({
    record: conversation.table,
    owner: facts.window.agentId,
    id,
    verdict: gone.has(id) ? 'gone' : notExportable.has(id) ? 'not exportable' : 'unknown',
    beforeMs: sentMs,
    asOfMs: sentMs - mirrorLagMs,
  }))
}

function absencesOfResource(resource: DeclaredResource, pages: readonly LoadablePage[], page: LoadablePage): Absence[] {
  const { requestedId: id, requestedAgentId = '', answeredBy, status, lastPage, sentAtServerMs } = page.head
  const { table } = resource.record
  if (resource.absence === 'never') return []
  if (resource.absence === 'not found') {
    if (status !== 404 || id === undefined) return []
    // If the vendor lacks the id, it also lacks the id's children.
    const children = childrenOf(resource).map(({ record }) => ({ record: record.table, owner: id, id: null }))
    return [{ record: table, owner: requestedAgentId, id }, ...children].map(absence => ({
      ...absence,
      beforeMs: sentAtServerMs,
    }))
  }
  const beforeMs = lastPage ? begunMs(pages, page) : null
  // Only a complete list proves that an absent record is gone.
  if (beforeMs === null) return []
  const owners = resource.listedBy ? (answeredBy ?? []) : [resource.parent === null ? '' : id]
  return owners.flatMap(owner => (owner === undefined ? [] : [{ record: table, owner, id: null, beforeMs }]))
}

const absenceRows = ({ workspaceId, mirrorLagMs }: LoadContext, pages: readonly LoadablePage[]): Row[] =>
  pages.flatMap(page =>
    absencesOf(pages, page, mirrorLagMs).map(({ beforeMs, asOfMs = beforeMs, verdict = 'gone', ...absence }) => ({
      ...{ workspace_id: workspaceId, ...absence, verdict, file: page.address },
      ...{ before_at: iso(beforeMs), since: iso(page.head.sentAtServerMs), as_of: iso(asOfMs) },
    })),
  )

/**
 * Marks the rows of a resource and its children, inside the caller's transaction. A row is missing since the first
 * absence after it was last returned, or since its parent went missing. These tables are small.
 */
export async function markResource(writer: Writer, workspaceId: string, resource: DeclaredResource): Promise<void> {
  await markRows(writer, workspaceId, resource)
  for (const child of childrenOf(resource)) await markResource(writer, workspaceId, child)
}

async function markRows(writer: Writer, workspaceId: string, resource: DeclaredResource): Promise<void> {
  const { table, id } = resource.record
  const parent = resource.parent === null ? undefined : resourceOf(resource.parent as Stream)
  const ownerColumn = resource.listedBy ?? parent?.record.id.column
  const owner = (row: string) => (ownerColumn ? `coalesce(${row}.${ownerColumn}, '')` : `''`)
  const seen = 'coalesce(t._fetched_at, t._version)'
  const ofParent = parent
    ? `LEFT JOIN ${parent.record.table} p ON p.workspace_id = t.workspace_id AND p.${parent.record.id.column} = ${owner('t')} AND p._missing_since >= ${seen}`
    : ''
  const since = parent ? 'least(min(a.since), min(p._missing_since))' : 'min(a.since)'
  const layout = layoutOf(resource.record)
  await writer.run(`CREATE OR REPLACE TEMP TABLE marked AS
    SELECT * FROM (
      SELECT ${layout.key.map(column => `t.${column}`).join(', ')}, t._missing_since AS before, ${since} AS since FROM ${table} t LEFT JOIN _absences a
        ON a.workspace_id = t.workspace_id AND a.record = ${quoteText(table)} AND a.owner = ${owner('t')}
          AND CASE WHEN a.id IS NULL THEN a.before_at > ${seen} ELSE a.id = t.${id.column} AND a.before_at >= ${seen} END
        ${ofParent}
      WHERE t.workspace_id = ${quoteText(workspaceId)} GROUP BY ALL)
    WHERE before IS DISTINCT FROM since`)
  const [any] = await writer.rows('SELECT 1 FROM marked LIMIT 1')
  if (!any) return
  await logChanges(writer, { table, keys: `SELECT ${layout.key.join(', ')} FROM marked` })
  await writer.run(
    `UPDATE ${table} AS r SET _missing_since = m.since FROM marked m WHERE ${sameKey(layout.key, 'r', 'm')}`,
  )
}

/** Marks those of `keys`, a relation of (agent_id, conversation_id), that answers lacked. Runs inside the caller's transaction. */
export async function markUnanswered(writer: Writer, workspaceId: string, keys: string): Promise<void> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  await writer.run(`CREATE OR REPLACE TEMP TABLE absent AS
    SELECT owner AS agent_id, id AS conversation_id, verdict, before_at, since, as_of FROM _absences
    WHERE ${here} AND record = 'conversations' AND (owner, id) IN (${keys})`)
  const [any] = await writer.rows('SELECT 1 FROM absent LIMIT 1')
  if (!any) return
  const absent = `SELECT DISTINCT ${quoteText(workspaceId)} AS workspace_id, agent_id, conversation_id FROM absent`
  // An absent id may have no row.
  const stored = `FROM (${absent}) SEMI JOIN conversations USING (workspace_id, agent_id, conversation_id)`
  await logChanges(writer, { table: 'conversations', keys: stored })
  await writer.run(sqlFile('load/mark_unanswered'), { workspace: workspaceId })
}

/**
 * Records the absences in a batch's pages and marks rows, inside the caller's transaction and after the batch's records
 * are written. `staged`: the batch had records, whose keys are in `incoming`.
 */
export async function markMissing(
  context: LoadContext,
  pages: readonly LoadablePage[],
  staged: boolean,
): Promise<void> {
  const { writer, workspaceId } = context
  const rows = absenceRows(context, pages)
  if (rows.length > 0) await writer.append('_absences', rows)
  const [first] = pages
  if (!first) return
  const resource = resourceOf(first.head.place.stream)
  if (resource) return markResource(writer, workspaceId, resource)
  const files = pages
    .filter(({ head }) => head.facts && head.facts.missing.length > 0)
    .map(({ address }) => quoteText(address))
  const asked = files.length > 0 ? [`SELECT owner, id FROM _absences WHERE file IN (${files.join(', ')})`] : []
  const keys = [...asked, ...(staged ? ['SELECT agent_id, id FROM incoming'] : [])]
  if (keys.length > 0) await markUnanswered(writer, workspaceId, keys.join(' UNION '))
}
