// Merges the stage into the tables: the newest version of each record wins, in any order of arrival.
//
// No MERGE and no primary key: delete and insert was the fastest at every size (an INSERT OR REPLACE with a key took 19
// s instead of 2.5). The cost of deletes grows with the tables, so rows are deleted by number (`_record`), and only for
// records that were stored before; the first load of a window has almost none.

import { tablesOf } from '../../catalog/ddl.ts'
import { childColumns, childSelect, keyItems, mayHaveRows, recordItems } from '../../catalog/extraction.ts'
import type { UnknownTree } from '../../catalog/inspection/unknown-fields.ts'
import { type ChildTable, isNumbered, type Layout, layoutOf, quoteName, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { logChanges } from '../changes/log-changes.ts'
import { iso, type Writer } from '../connection.ts'
import { STAGE } from './stage.ts'

export interface MergeOptions {
  layout: Layout
  workspaceId: string
  unknown: UnknownTree
  source: 'export' | 'api' | 'webhook'
  nowMs: number
}

const storedKey = (layout: Layout): string => (layout.record.perAgent ? 'c.agent_id' : "''")

/** Finds staged records that a newer record supersedes, staged or stored. */
async function findSuperseded(writer: Writer, { layout, workspaceId }: MergeOptions): Promise<void> {
  await writer.run(`CREATE OR REPLACE TEMP TABLE superseded AS
    SELECT row FROM (
      SELECT row, row_number() OVER (PARTITION BY agent_id, id ORDER BY
          state_time(modified, as_of) DESC, coalesce(modified, as_of) DESC, fetched_at DESC, file DESC, element DESC) AS place
      FROM incoming
    ) WHERE place > 1`)
  await writer.run(`CREATE OR REPLACE TEMP TABLE stored AS
    SELECT i.row, i.agent_id, i.id, c._changed_at, ${isNumbered(layout) ? 'c._record' : 'NULL'} AS _record, NOT coalesce(c._complete, false)
        OR supersedes(i.modified, i.as_of, i.fetched_at, c._base_modified, c._as_of, c._fetched_at) AS wins
    FROM incoming i JOIN ${layout.record.table} c
      ON c.workspace_id = ${quoteText(workspaceId)} AND ${storedKey(layout)} = i.agent_id AND c.${layout.record.id.column} = i.id
    WHERE i.row NOT IN (SELECT row FROM superseded)`)
  await writer.run('INSERT INTO superseded SELECT row FROM stored WHERE NOT wins')
}

async function deleteReplaced(writer: Writer, { layout, workspaceId }: MergeOptions): Promise<void> {
  const { record, children } = layout
  if (!isNumbered(layout)) {
    const key = record.perAgent ? ['agent_id', record.id.column] : [record.id.column]
    const replaced = `SELECT ${record.perAgent ? 'agent_id, id' : 'id'} FROM stored WHERE wins`
    await writer.run(
      `DELETE FROM ${record.table} WHERE workspace_id = ${quoteText(workspaceId)} AND (${key.join(', ')}) IN (${replaced})`,
    )
    return
  }
  // A join is faster here: IN (SELECT ...) becomes a semi-join, which probed its hash table for every row instead of those
  // that a Bloom filter let through. With four million child rows the semi-join took 15 ms, the join 8, a list of numbers 37.
  for (const table of [record.table, ...children.map(child => child.table)])
    await writer.run(`DELETE FROM ${table} t USING stored s WHERE t._record = s._record AND s.wins`)
}

/**
 * Returns the child tables that the staged records may have rows of. Planning an INSERT takes four milliseconds, and a
 * few records have rows in few of the eighteen child tables. This query halved the time of loading one.
 */
async function childrenWithRows(writer: Writer, { children }: Layout): Promise<ChildTable[]> {
  if (children.length === 0) return []
  const found = children.map((child, at) => `bool_or(${mayHaveRows(child)}) AS c${at}`)
  const [has] = await writer.rows<Record<string, boolean | null>>(`SELECT ${found.join(', ')} FROM ${STAGE} s`)
  return children.filter((_, at) => has![`c${at}`] === true)
}

async function insertRows(
  writer: Writer,
  options: MergeOptions,
  { last, replaces }: { last: number; replaces: boolean },
): Promise<void> {
  const { layout, workspaceId, unknown, source, nowMs } = options
  const { record } = layout
  const modified = record.modifiedKey
    ? `changed_at(s.${quoteName(record.modifiedKey)}, s."__fetched")`
    : 'NULL::TIMESTAMPTZ'
  const agent = record.perAgent ? 's."__agent"' : "''"
  const own = layout.columns.map(column => quoteName(column.name))
  // Rows of a running transaction, such as a stage of events, have row ids from 2^55 on.
  const [stage] = await writer.rows<{ first: string }>(`SELECT coalesce(min(rowid), 0)::VARCHAR AS first FROM ${STAGE}`)
  const number = `${last + 1} + (s.rowid - ${stage!.first})`
  const bookkeeping = {
    _version: `coalesce(${modified}, s."__as_of")`,
    _as_of: 's."__as_of"',
    _fetched_at: 's."__fetched"',
    _loaded_at: `TIMESTAMPTZ '${iso(nowMs)}'`,
    _source: quoteText(source),
    ...(!record.fact && {
      _complete: 'true',
      _base_modified: modified,
      // Only a request sent later than the change plus the mirror's lag clears the mark.
      _changed_at: replaces ? 'b._changed_at' : 'NULL::TIMESTAMPTZ',
      _dirty_since: replaces ? 'CASE WHEN b._changed_at >= s."__as_of" THEN b._changed_at END' : 'NULL::TIMESTAMPTZ',
    }),
    ...(isNumbered(layout) && { _record: number }),
  }
  const names = [...layout.key, ...own, 'extra', ...Object.keys(bookkeeping)]
  const selected = [...keyItems(layout, workspaceId), ...recordItems(layout, unknown), ...Object.values(bookkeeping)]
  // Joins only if something is replaced: even an empty join of such wide rows took a quarter of the time of writing a few rows.
  const stored = replaces ? ` LEFT JOIN stored b ON b.agent_id = ${agent} AND b.id = s.${quoteName(record.id.key)}` : ''
  await writer.run(
    `INSERT INTO ${record.table} (${names.join(', ')}) SELECT ${selected.join(', ')} FROM ${STAGE} s${stored}`,
  )
  for (const child of await childrenWithRows(writer, layout)) {
    const select = childSelect({ layout, child, stage: STAGE, workspaceId, number, unknown })
    await writer.run(`INSERT INTO ${child.table} (${childColumns(layout, child).join(', ')}) ${select}`)
  }
}

export interface ResolvedVersions {
  /** Number of staged records that are dropped for an equal or newer version. */
  superseded: number
  /** Number of stored records that a staged one replaces. */
  replaced: number
}

/** Decides which staged records to keep, before the transaction that writes them begins. */
export async function resolveVersions(writer: Writer, options: MergeOptions): Promise<ResolvedVersions> {
  await findSuperseded(writer, options)
  const [counts] = await writer.rows<ResolvedVersions>(
    'SELECT (SELECT count(*) FROM superseded)::DOUBLE AS superseded, (SELECT count(*) FROM stored WHERE wins)::DOUBLE AS replaced',
  )
  return counts!
}

/**
 * Deletes superseded records from the stage and writes the others, inside the caller's transaction. Logs superseded
 * ones too, since their stored rows may get other patches or marks in the same transaction.
 */
export async function mergeStage(
  writer: Writer,
  options: MergeOptions,
  { replaced, superseded }: ResolvedVersions,
): Promise<void> {
  const { layout, workspaceId } = options
  await logChanges(writer, {
    table: layout.record.table,
    keys: `SELECT ${keyItems(layout, workspaceId).join(', ')} FROM ${STAGE} s`,
    areNew: layout.record.fact === true,
  })
  if (superseded > 0) await writer.run(`DELETE FROM ${STAGE} WHERE rowid IN (SELECT row FROM superseded)`)
  const last = await lastNumber(writer, layout)
  if (replaced > 0) await deleteReplaced(writer, options)
  await insertRows(writer, options, { last, replaces: replaced > 0 })
}

/** Returns the highest number in use, in the open warehouse or in the attached `schema`; 0 for a table without numbers. */
export async function lastNumber(writer: Writer, layout: Layout, schema?: string): Promise<number> {
  if (!isNumbered(layout)) return 0
  const table = schema === undefined ? layout.record.table : `${schema}.${layout.record.table}`
  const [row] = await writer.rows<{ last: string }>(`SELECT coalesce(max(_record), 0)::VARCHAR AS last FROM ${table}`)
  return Number(row!.last)
}

/** Returns the SELECT list of a table's rows with numbers after `last`, which is 0 for a table without numbers. */
export const renumbered = (last: number): string => (last === 0 ? '*' : `* REPLACE (_record + ${last} AS _record)`)

/** Returns the layout that table `name` belongs to, if its records are numbered. */
export const numberedLayoutOf = (name: string): Layout | undefined =>
  RECORD_TYPES.map(record => layoutOf(record)).find(
    layout => isNumbered(layout) && tablesOf(layout).some(table => table.name === name),
  )
