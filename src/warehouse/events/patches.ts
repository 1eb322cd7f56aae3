// Patches: parts of a conversation that events told, kept by key until a full record that is not older arrives.
//
//   row = base, and over it for each key the newest patch that is newer than the base
//
// For each key the highest version wins, so exports and events converge in any order and any number of times.

import { coerceRecord } from '../../catalog/coerce.ts'
import { childColumns, childSelect } from '../../catalog/extraction.ts'
import { type Layout, quoteName, quoteText } from '../../catalog/layout.ts'
import { sentFields } from '../../catalog/shape.ts'
import { COERCED_EXTRA, recordStruct } from '../../catalog/staging.ts'
import { readExactly, writeExactly } from '../../json/exact-json.ts'
import { iso, type Writer } from '../connection.ts'
import { lastNumber } from '../load/record-numbers.ts'
import { wellFormed } from '../load/well-formed.ts'

export interface Patch {
  agentId: string
  conversationId: string
  /** Top-level keys of the conversation record, as the event carried them. */
  values: Readonly<Record<string, unknown>>
  /** The carried `lastModified`, ms; null where it carried none. */
  modifiedMs: number | null
  /** When the event was created, ms. */
  createdMs: number
  /** The same, and never that of another event: it settles which of two is the later. */
  orderedMs: number
}

const KEY = 'agent_id, conversation_id'

async function stagePatches(writer: Writer, patches: readonly Patch[]): Promise<void> {
  const columns = ['agent_id', 'conversation_id', 'key', 'value', 'modified', 'as_of', 'fetched_at']
  await writer.run(
    `CREATE OR REPLACE TEMP TABLE patch_texts (${columns.map(column => `${column} VARCHAR`).join(', ')})`,
  )
  await writer.appendTexts(
    'patch_texts',
    patches.flatMap(({ agentId, conversationId, values, modifiedMs, createdMs, orderedMs: placeMs }) => {
      const times = [modifiedMs === null ? null : iso(modifiedMs), iso(createdMs), iso(placeMs)]
      return Object.entries(values).map(([key, value]) => [
        agentId,
        conversationId,
        key,
        wellFormed(writeExactly(value)),
        ...times,
      ])
    }),
  )
  await writer.run(`CREATE OR REPLACE TEMP TABLE new_patches AS SELECT ${KEY}, key, value::JSON AS value,
    modified::TIMESTAMP AS modified, as_of::TIMESTAMP AS as_of, fetched_at::TIMESTAMP AS fetched_at FROM patch_texts`)
}

/** Keys that no full record has, and so none overrules. */
const TOLD_BY_EVENTS_ALONE = quoteText('channel')

/** Drops patches that the conversation's full record is not older than. `keys` is an SQL relation of (agent_id, conversation_id). */
async function dropOverruled(writer: Writer, workspaceId: string, keys: string): Promise<void> {
  await writer.run(`DELETE FROM conversation_patches USING conversations c
    WHERE conversation_patches.workspace_id = ${quoteText(workspaceId)} AND c.workspace_id = conversation_patches.workspace_id
      AND c.agent_id = conversation_patches.agent_id AND c.conversation_id = conversation_patches.conversation_id
      AND (c.agent_id, c.conversation_id) IN (${keys}) AND c._complete AND conversation_patches.key NOT IN (${TOLD_BY_EVENTS_ALONE})
      AND replaces(c._base_modified, c._as_of, c._fetched_at,
        conversation_patches.modified, conversation_patches.as_of, conversation_patches.fetched_at)`)
}

/**
 * Of the patches of a key, those that may still win. By their own last change where all of them tell it, else by how fresh
 * they are: so the newest by either, and the newest of those that do not tell it, decide whatever comes after them.
 */
async function storeNewest(writer: Writer, workspaceId: string): Promise<void> {
  const workspace = quoteText(workspaceId)
  const columns = `${KEY}, key, value, modified, as_of, fetched_at`
  await writer.run(`CREATE OR REPLACE TEMP TABLE all_patches AS
    SELECT ${columns} FROM new_patches UNION ALL SELECT ${columns} FROM conversation_patches
      WHERE workspace_id = ${workspace} AND (${KEY}) IN (SELECT ${KEY} FROM new_patches)`)
  await writer.run(
    `DELETE FROM conversation_patches WHERE workspace_id = ${workspace} AND (${KEY}) IN (SELECT ${KEY} FROM new_patches)`,
  )
  const place = (within: string, by: string) =>
    `row_number() OVER (PARTITION BY ${KEY}, key${within} ORDER BY ${by} DESC NULLS LAST, fetched_at DESC, value::VARCHAR DESC)`
  await writer.run(`INSERT INTO conversation_patches (workspace_id, ${columns})
    SELECT ${workspace}, ${columns} FROM (SELECT *, ${place('', 'modified')} AS by_modified,
      ${place('', 'freshness(modified, as_of)')} AS by_freshness, ${place(', modified IS NULL', 'as_of')} AS among_like FROM all_patches)
    WHERE by_freshness = 1 OR (modified IS NOT NULL AND by_modified = 1) OR (modified IS NULL AND among_like = 1)`)
}

/** The patch that wins of each key, of the stored ones of `keys`. */
const winners = (workspaceId: string, keys: string): string => `SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY ${KEY}, key ORDER BY
    CASE WHEN told_all THEN modified ELSE freshness(modified, as_of) END DESC, fetched_at DESC, value::VARCHAR DESC) AS place
  FROM (SELECT *, count(modified) OVER (PARTITION BY ${KEY}, key) = count(*) OVER (PARTITION BY ${KEY}, key) AS told_all
    FROM conversation_patches WHERE workspace_id = ${quoteText(workspaceId)} AND (${KEY}) IN (${keys})))
  WHERE place = 1`

/** Rows that events alone have told of, those in `from`: they stand on no full record until one is exported. */
export async function insertIncomplete(
  writer: Writer,
  { layout, workspaceId, nowMs, from }: { layout: Layout; workspaceId: string; nowMs: number; from: string },
): Promise<void> {
  const last = await lastNumber(writer, layout)
  const workspace = quoteText(workspaceId)
  await writer.run(`INSERT INTO conversations (workspace_id, ${KEY}, _version, _as_of, _fetched_at, _loaded_at, _source, _complete, _record)
    SELECT ${workspace}, ${KEY}, max(as_of), max(as_of), max(fetched_at), TIMESTAMP '${iso(nowMs)}', 'webhook', false, ${last} + row_number() OVER ()
    FROM ${from} p WHERE NOT EXISTS (SELECT 1 FROM conversations c
      WHERE c.workspace_id = ${workspace} AND c.agent_id = p.agent_id AND c.conversation_id = p.conversation_id)
    GROUP BY ${KEY}`)
}

/**
 * The stored patches of `keys` as `patch_stage`, and which keys they carry: of each conversation one record of only some, mended as
 * a page's records are on the tolerant path. Events are few, so walking them costs nothing that matters.
 */
async function stagePatched(
  writer: Writer,
  { layout, workspaceId, keys }: { layout: Layout; workspaceId: string; keys: string },
): Promise<Set<string>> {
  // Ids as JSON: of a text that begins with a byte order mark, the driver leaves that out.
  const stored = await writer.rows<{ agent: string; id: string; members: string }>(
    `SELECT to_json(agent_id) AS agent, to_json(conversation_id) AS id, json_group_object(key, value) AS members
     FROM (${winners(workspaceId, keys)}) GROUP BY ${KEY}`,
  )
  const rows = stored.map(({ agent, id, members }) => {
    const values = readExactly(members).value as Record<string, unknown>
    const record = coerceRecord(layout.record, { ...values, ID: JSON.parse(id) })!.record
    return { agent_id: JSON.parse(agent), keys: Object.keys(values), record: writeExactly(record) }
  })
  await writer.run('CREATE OR REPLACE TEMP TABLE partial (agent_id VARCHAR, keys VARCHAR[], record VARCHAR)')
  await writer.append('partial', { agent_id: 'VARCHAR', keys: ['VARCHAR'], record: 'VARCHAR' }, rows)
  const struct = quoteText(JSON.stringify(recordStruct(sentFields(layout.record), {})))
  await writer.run(`CREATE OR REPLACE TEMP TABLE patch_stage AS
    SELECT agent_id AS "__agent", keys AS "__keys", _record AS "__record", d.* FROM (
      SELECT p.*, c._record FROM (SELECT agent_id, keys, from_json(record, ${struct}) AS d FROM partial) p JOIN conversations c
      ON c.workspace_id = ${quoteText(workspaceId)} AND c.agent_id = p.agent_id AND c.conversation_id = p.d."ID")`)
  return new Set(rows.flatMap(row => row.keys))
}

/** Lays the stored patches of `keys` over their rows and child tables, by the same expressions as a full record's. */
async function overlay(
  writer: Writer,
  options: { layout: Layout; workspaceId: string; keys: string; nowMs: number },
): Promise<void> {
  const { layout, workspaceId } = options
  const carried = await stagePatched(writer, options)
  await writer.run(`CREATE OR REPLACE TEMP TABLE patched AS
    SELECT c.* REPLACE (${[...layout.columns.map(patchedColumn), patchedExtra(options.nowMs)].join(', ')})
    FROM conversations c JOIN patch_stage s ON c._record = s."__record"`)
  await writer.run('DELETE FROM conversations c USING patch_stage s WHERE c._record = s."__record"')
  // A patch may carry one of the fields that a day or a channel follows from, and not the others.
  const anew = layout.rederived.map(({ column, value }) => `${value} AS ${column}`)
  await writer.run(`INSERT INTO conversations BY NAME SELECT * REPLACE (${anew.join(', ')}) FROM patched`)
  for (const child of layout.children.filter(({ from }) => carried.has(from))) {
    const carrying = `list_contains(s."__keys", ${quoteText(child.from)})`
    await writer.run(`DELETE FROM ${child.table} t USING patch_stage s WHERE t._record = s."__record" AND ${carrying}`)
    const number = 's."__record"'
    const select = childSelect({ layout, child, stage: 'patch_stage', workspaceId, number, unknown: {} })
    await writer.run(`INSERT INTO ${child.table} (${childColumns(layout, child).join(', ')}) ${select}`)
  }
}

const patchedColumn = (column: Layout['columns'][number]): string => {
  const carried = column.from.map(key => `list_contains(s."__keys", ${quoteText(key)})`).join(' OR ')
  return `CASE WHEN ${carried} THEN ${column.expression} ELSE c.${quoteName(column.name)} END AS ${quoteName(column.name)}`
}

const patchedExtra = (nowMs: number): string =>
  `laid_over(c.extra, s."__keys", s.${quoteName(COERCED_EXTRA)}) AS extra, TIMESTAMP '${iso(nowMs)}' AS _loaded_at`

/** After full records were merged: drops the patches that they overrule, and lays the rest over them again. */
export async function reapplyPatches(
  writer: Writer,
  options: { layout: Layout; workspaceId: string; nowMs: number },
): Promise<void> {
  const keys = 'SELECT agent_id, id FROM incoming'
  const [any] = await writer.rows(
    `SELECT 1 FROM conversation_patches WHERE workspace_id = ${quoteText(options.workspaceId)} AND (${KEY}) IN (${keys}) LIMIT 1`,
  )
  if (!any) return
  await dropOverruled(writer, options.workspaceId, keys)
  await overlay(writer, { ...options, keys: `SELECT ${KEY} FROM conversation_patches${scoped(keys)}` })
}

const scoped = (keys: string): string => ` WHERE (${KEY}) IN (${keys})`

/** Folds patches into the tables, inside the caller's transaction. */
export async function applyPatches(
  writer: Writer,
  options: { layout: Layout; workspaceId: string; patches: readonly Patch[]; nowMs: number },
): Promise<void> {
  if (options.patches.length === 0) return
  await stagePatches(writer, options.patches)
  await storeNewest(writer, options.workspaceId)
  await insertIncomplete(writer, { ...options, from: 'new_patches' })
  const keys = `SELECT ${KEY} FROM new_patches`
  await dropOverruled(writer, options.workspaceId, keys)
  await overlay(writer, { ...options, keys })
}
