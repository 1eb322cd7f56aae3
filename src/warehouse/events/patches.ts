// Patches: parts of a conversation that events carried, stored by key until a full record at least as new arrives.
//
//   row = full record, overlaid for each key by the newest patch that is newer than the record
//
// For each key the highest version wins, so exports and events converge in any order and any number of times.

import { childColumns, childSelect } from '../../catalog/extraction.ts'
import { coerceRecord } from '../../catalog/inspection/coerce.ts'
import { type Layout, quoteName, quoteText } from '../../catalog/layout.ts'
import { sentFields } from '../../catalog/shape.ts'
import { COERCED_EXTRA, recordStruct } from '../../catalog/staging.ts'
import { readCanonical, writeExactly } from '../../json/exact-json.ts'
import { iso, type Writer, wellFormed } from '../connection.ts'
import { lastNumber } from '../load/merge.ts'
import { sqlFile } from '../sql-files.ts'

export interface Patch {
  agentId: string
  conversationId: string
  /** Top-level keys of the conversation record, as the event carried them. */
  values: Readonly<Record<string, unknown>>
  /** The carried `lastModified`, ms; null if it carried none. */
  modifiedMs: number | null
  /** Time when the event was created, ms. */
  createdMs: number
  /** `createdMs` plus microseconds from the event's id, which order two events of one millisecond. */
  orderedMs: number
  /** Writes the values as JSON; default: `writeExactly`. */
  write?: (value: unknown) => string
}

interface Options {
  layout: Layout
  workspaceId: string
  nowMs: number
}

const KEY = 'agent_id, conversation_id'

/** Applies patches to the tables, inside the caller's transaction. */
export async function applyPatches(writer: Writer, options: Options & { patches: readonly Patch[] }): Promise<void> {
  if (options.patches.length === 0) return
  await stagePatches(writer, options.workspaceId, options.patches)
  await storeNewest(writer, options.workspaceId)
  await insertIncomplete(writer, { ...options, from: 'new_patches' })
  await patchConversations(writer, options, `SELECT DISTINCT ${KEY} FROM new_patches`)
}

/** Applies the stored patches of the conversations in `touched` again, after patches were added to the table. */
export async function applyStoredPatches(writer: Writer, options: Options): Promise<void> {
  const stored = `conversation_patches WHERE workspace_id = ${quoteText(options.workspaceId)} AND (${KEY}) IN (SELECT ${KEY} FROM touched)`
  await writer.run(
    `CREATE OR REPLACE TEMP TABLE new_patches AS SELECT DISTINCT ${KEY}, key, value, modified, as_of, fetched_at FROM ${stored}`,
  )
  // `storeNewest` would find each of them again, and might store both.
  await writer.run(`DELETE FROM ${stored}`)
  await storeNewest(writer, options.workspaceId)
  await patchConversations(writer, options, `SELECT DISTINCT ${KEY} FROM new_patches`)
}

/** Runs after full records were merged: deletes the patches that they override, and applies the others to them again. */
export async function reapplyPatches(writer: Writer, options: Options): Promise<void> {
  const [any] = await writer.rows(
    `SELECT 1 FROM conversation_patches
     WHERE workspace_id = ${quoteText(options.workspaceId)} AND (${KEY}) IN (SELECT agent_id, id FROM incoming) LIMIT 1`,
  )
  if (!any) return
  await patchConversations(writer, options, 'SELECT DISTINCT agent_id, id AS conversation_id FROM incoming')
}

async function patchConversations(writer: Writer, options: Options, keys: string): Promise<void> {
  await writer.run(`CREATE OR REPLACE TEMP TABLE patched_keys AS ${keys}`)
  await writer.run(sqlFile('events/drop_overruled_patches'), { workspace: options.workspaceId })
  await overlay(writer, options)
}

/**
 * Stages patches as `new_patches`, one row per key. Omits those that a stored full record overrides, except for
 * `channel`: a replay loads exports first, which override most of its events.
 */
async function stagePatches(writer: Writer, workspaceId: string, patches: readonly Patch[]): Promise<void> {
  const table = (name: string, columns: readonly string[]) =>
    writer.run(`CREATE OR REPLACE TEMP TABLE ${name} (${columns.map(column => `${column} VARCHAR`).join(', ')})`)
  await table('patch_texts', ['place', 'agent_id', 'conversation_id', 'modified', 'as_of', 'fetched_at'])
  await writer.appendTexts(
    'patch_texts',
    patches.map(({ agentId, conversationId, modifiedMs, createdMs, orderedMs }, place) => {
      const times = [modifiedMs === null ? null : iso(modifiedMs), iso(createdMs), iso(orderedMs)]
      return [String(place), agentId, conversationId, ...times]
    }),
  )
  await writer.run(sqlFile('events/stage_patches'), { workspace: workspaceId })
  const overruled = await writer.rows<{ place: number }>('SELECT place FROM staged_patches WHERE overruled')
  const channelOnly = new Set(overruled.map(({ place }) => place))
  await table('patch_values', ['place', 'key', 'value'])
  await writer.appendTexts(
    'patch_values',
    patches.flatMap(({ values, write = writeExactly }, place) =>
      Object.entries(values)
        .filter(([key]) => key === 'channel' || !channelOnly.has(place))
        .map(([key, value]) => [String(place), key, wellFormed(write(value))]),
    ),
  )
  await writer.run(`CREATE OR REPLACE TEMP TABLE new_patches AS SELECT ${KEY}, key, value::JSON AS value, modified, as_of, fetched_at
    FROM patch_values v JOIN staged_patches p ON p.place = v.place::INTEGER`)
}

/** Stores the staged patches, and deletes all patches of the same conversations that can no longer win. */
async function storeNewest(writer: Writer, workspaceId: string): Promise<void> {
  const columns = `${KEY}, key, value, modified, as_of, fetched_at`
  const touched = `workspace_id = $workspace AND (${KEY}) IN (SELECT ${KEY} FROM new_patches)`
  const params = { workspace: workspaceId }
  await writer.run(
    `CREATE OR REPLACE TEMP TABLE all_patches AS
     SELECT ${columns} FROM new_patches UNION ALL SELECT ${columns} FROM conversation_patches WHERE ${touched}`,
    params,
  )
  await writer.run(`DELETE FROM conversation_patches WHERE ${touched}`, params)
  await writer.run(sqlFile('events/insert_newest_patches'), params)
}

/** Inserts conversations of `from` that only events know as incomplete rows, since no full record of them was exported yet. */
export async function insertIncomplete(
  writer: Writer,
  { layout, workspaceId, nowMs, from }: Options & { from: 'new_patches' | 'touched' },
): Promise<void> {
  const last = await lastNumber(writer, layout)
  await writer.run(
    `INSERT INTO conversations (workspace_id, ${KEY}, _version, _as_of, _fetched_at, _loaded_at, _source, _complete, _record)
    SELECT $workspace, ${KEY}, max(as_of), max(as_of), max(fetched_at), $now::TIMESTAMPTZ, 'webhook', false, $last + row_number() OVER ()
    FROM ${from} p WHERE NOT EXISTS (SELECT 1 FROM conversations c
      WHERE c.workspace_id = $workspace AND c.agent_id = p.agent_id AND c.conversation_id = p.conversation_id)
    GROUP BY ${KEY}`,
    { workspace: workspaceId, now: iso(nowMs), last },
  )
}

/**
 * Stages the winning patches of `patched_keys` as `patch_stage`: one partial record per conversation, coerced as on the
 * tolerant path. Events are few, so processing them in Node costs little. @returns the keys that the patches carry
 */
async function stagePatched(writer: Writer, { layout, workspaceId }: Options): Promise<Set<string>> {
  const winning = await writer.rows<{ agent: string; id: string; members: string }>(sqlFile('events/winning_patches'), {
    workspace: workspaceId,
  })
  const rows = winning.map(({ agent, id, members }) => {
    const { value, write } = readCanonical(members)
    const values = value as Record<string, unknown>
    const record = coerceRecord(layout.record, { ...values, ID: JSON.parse(id) })!.record
    return { agent_id: JSON.parse(agent), keys: Object.keys(values), record: write(record) }
  })
  await writer.run('CREATE OR REPLACE TEMP TABLE partial (agent_id VARCHAR, keys VARCHAR[], record VARCHAR)')
  await writer.append('partial', rows)
  const struct = quoteText(JSON.stringify(recordStruct(sentFields(layout.record), {})))
  await writer.run(`CREATE OR REPLACE TEMP TABLE patch_stage AS
    SELECT agent_id AS "__agent", keys AS "__keys", _record AS "__record", d.* FROM (
      SELECT p.*, c._record FROM (SELECT agent_id, keys, from_json(record, ${struct}) AS d FROM partial) p JOIN conversations c
      ON c.workspace_id = ${quoteText(workspaceId)} AND c.agent_id = p.agent_id AND c.conversation_id = p.d."ID")`)
  return new Set(rows.flatMap(row => row.keys))
}

/** Applies the winning patches to rows and child tables, with the same expressions as for a full record. */
async function overlay(writer: Writer, options: Options): Promise<void> {
  const { layout, workspaceId } = options
  const carried = await stagePatched(writer, options)
  // Updates only columns that a patch can change: planning an expression for every column took 80 ms.
  const changed = layout.columns.filter(({ from }) => from.some(key => carried.has(key)))
  await writer.run(`CREATE OR REPLACE TEMP TABLE patched AS
    SELECT c.* REPLACE (${[...changed.map(patchedColumn), patchedExtra(options.nowMs)].join(', ')})
    FROM conversations c JOIN patch_stage s ON c._record = s."__record"`)
  await writer.run('DELETE FROM conversations c USING patch_stage s WHERE c._record = s."__record"')
  // Derived from the whole row, since a patch may carry only some of the fields that a day or channel depends on.
  const rederived = layout.rederived.map(({ column, value }) => `${value} AS ${column}`)
  await writer.run(`INSERT INTO conversations BY NAME SELECT * REPLACE (${rederived.join(', ')}) FROM patched`)
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
  `laid_over(c.extra, s."__keys", s.${quoteName(COERCED_EXTRA)}) AS extra, TIMESTAMPTZ '${iso(nowMs)}' AS _loaded_at`
