// Records that an answer says are not there any more: their rows stay, and say since when.
import { quoteText } from '../catalog/layout.ts'
import { unansweredOf } from '../core/windows.ts'
import { iso } from './connection.ts'
import type { LoadContext } from './load-context.ts'
import type { LoadablePage } from './page.ts'

const at = (ms: number): string => `TIMESTAMP '${iso(ms)}'`

const IDS = `IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`

/**
 * Conversations that were asked for by id and not answered: gone, not exportable, or not known which. What was asked for later than
 * the change that made it dirty is not asked for again.
 */
async function markUnanswered(context: LoadContext, pages: readonly LoadablePage[]): Promise<void> {
  for (const { head } of pages) {
    if (!head.facts || head.facts.missing.length === 0) continue
    const sentAt = at(head.sentAtServerMs)
    const { gone, notExportable } = unansweredOf(head.facts)
    const update = (ids: readonly string[], changes: string) =>
      context.writer.rows(
        `UPDATE conversations SET ${changes}
         WHERE workspace_id = ${quoteText(context.workspaceId)} AND agent_id = ${quoteText(head.facts!.window.agentId)}
           AND _fetched_at < ${sentAt} AND conversation_id ${IDS}`,
        [JSON.stringify(ids)],
      )
    await update(
      head.facts.missing,
      `_dirty_since = CASE WHEN _dirty_since >= ${sentAt} - INTERVAL ${context.mirrorLagMs} MILLISECOND THEN _dirty_since END`,
    )
    if (gone.length > 0)
      await update(gone, `_missing_since = coalesce(_missing_since, ${sentAt}), _not_exportable_since = NULL`)
    if (notExportable.length > 0)
      await update(
        notExportable,
        `_not_exportable_since = coalesce(_not_exportable_since, ${sentAt}), _missing_since = NULL`,
      )
  }
}

/** Rows of a table that are older than `beforeMs`; those that events alone told, by the time of what they told. */
const mark = (
  { writer, workspaceId }: LoadContext,
  { table, which, beforeMs, sinceMs }: { table: string; which: string; beforeMs: number; sinceMs: number },
): Promise<void> =>
  writer.run(`UPDATE ${table} SET _missing_since = ${at(sinceMs)} WHERE workspace_id = ${quoteText(workspaceId)}
    AND _missing_since IS NULL AND coalesce(_fetched_at, _version) < ${at(beforeMs)} AND ${which}`)

/** When the listing that ends with this page began; null where not all of it is here, as after a kill while it landed. */
function begunMs(pages: readonly LoadablePage[], { head }: LoadablePage): number | null {
  const { stream, window, sequence } = head.place
  const sameListing = pages.filter(({ head: { place } }) => place.stream === stream && place.window === window)
  return sameListing.length < sequence ? null : Math.min(...sameListing.map(page => page.head.sentAtServerMs))
}

const ofOrganization = (id: string): string => `organization_id = ${quoteText(id)}`

/** A complete listing tells which agents, or which teams of an organization, are gone: those that it did not tell of. */
async function markUnlisted(context: LoadContext, pages: readonly LoadablePage[]): Promise<void> {
  for (const page of pages) {
    const { place, lastPage, organizationId, sentAtServerMs: sinceMs } = page.head
    if (!lastPage) continue
    const beforeMs = begunMs(pages, page)
    if (beforeMs === null) continue
    if (place.stream === 'agents') await mark(context, { table: 'agents', which: 'true', beforeMs, sinceMs })
    if (place.stream === 'teams' && organizationId !== undefined)
      await mark(context, { table: 'teams', which: ofOrganization(organizationId), beforeMs, sinceMs })
  }
}

/** An organization that is not there takes its teams with it. */
async function markGone(context: LoadContext, pages: readonly LoadablePage[]): Promise<void> {
  for (const { head } of pages) {
    const { place, status, organizationId, sentAtServerMs: sentMs } = head
    if (place.stream !== 'organizations' || status !== 404 || organizationId === undefined) continue
    for (const table of ['organizations', 'teams'])
      await mark(context, { table, which: ofOrganization(organizationId), beforeMs: sentMs, sinceMs: sentMs })
  }
}

/** Marks what a batch's pages say is missing, inside the caller's transaction, when its records are written. */
export async function markMissing(context: LoadContext, pages: readonly LoadablePage[]): Promise<void> {
  await markUnlisted(context, pages)
  await markGone(context, pages)
  await markUnanswered(context, pages)
}
