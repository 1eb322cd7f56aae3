// Copies the rows that no landed page or event supplies from the open warehouse into the one that a replay has rebuilt.
// The payloads of events without a file are lost, so their effects are derived from their rows.
import { tablesOf } from '../../catalog/ddl.ts'
import {
  EVENT_RECORDS,
  modelHistory,
  OWN_RECORDS,
  transcript,
  webhookEvent,
} from '../../catalog/events/event-records.ts'
import { type Layout, layoutOf, quoteName, quoteText, sameKey } from '../../catalog/layout.ts'
import { PAGE_RECORDS, RECORD_TYPES } from '../../catalog/records.ts'
import type { Writer } from '../connection.ts'
import { lastNumber, numberedLayoutOf, renumbered } from '../load/merge.ts'
import { copyCoverage } from '../planning/coverage.ts'

/** Tables that `copyRuns` has copied for all workspaces. */
const COPIED_ALREADY = new Set(['_runs', '_full_exports_dropped'])

export const REBUILT = 'rebuilt'

/**
 * Runs `work` exclusively on the open warehouse, with `file` attached as `rebuilt`; no other instance may have that
 * file open. In statements, tables without a schema belong to the open warehouse.
 */
export function withRebuilt<T>(from: Writer, file: string, work: () => Promise<T>): Promise<T> {
  return from.exclusively(async () => {
    await from.run(`ATTACH ${quoteText(file)} AS ${REBUILT}`)
    try {
      const result = await work()
      // The caller renames the file; a write-ahead log beside it would keep the old name.
      await from.run(`CHECKPOINT ${REBUILT}`)
      return result
    } finally {
      await from.run(`DETACH ${REBUILT}`)
    }
  })
}

const oneOf = (ids: readonly string[]): string => `workspace_id IN (${ids.map(quoteText).join(', ')})`

/** Returns the columns that a table has in both files. Columns that the catalog no longer declares exist only in the older one. */
async function sharedColumns(from: Writer, table: string): Promise<string> {
  const columns = await from.rows<{ name: string }>(`SELECT column_name AS name FROM duckdb_columns()
    WHERE table_name = ${quoteText(table)} AND database_name IN (current_database(), '${REBUILT}') GROUP BY ALL HAVING count(*) = 2`)
  return columns.map(({ name }) => quoteName(name)).join(', ')
}

/** Copies the rows of every workspace except `ids`, so that workspaces that are not configured are kept. */
export async function preserveOtherWorkspaces(from: Writer, ids: readonly string[]): Promise<void> {
  // One query for all tables, because each call of `duckdb_columns()` takes 10 ms.
  const tables = await from.rows<{ name: string; columns: string[] }>(`
    SELECT table_name AS name, list(column_name) AS columns FROM (
      SELECT table_name, column_name FROM duckdb_columns()
      WHERE database_name IN (current_database(), '${REBUILT}') AND schema_name = 'main' GROUP BY ALL HAVING count(*) = 2)
    WHERE table_name IN (SELECT table_name FROM duckdb_tables() WHERE database_name = '${REBUILT}' AND schema_name = 'main')
    GROUP BY ALL HAVING list_contains(columns, 'workspace_id')`)
  const taken = new Map<string, number>()
  for (const record of RECORD_TYPES) taken.set(record.table, await lastNumber(from, layoutOf(record), REBUILT))
  for (const { name, columns } of tables.filter(table => !COPIED_ALREADY.has(table.name))) {
    const table = quoteName(name)
    const rows = renumbered(taken.get(numberedLayoutOf(name)?.record.table ?? '') ?? 0)
    await from.run(
      `INSERT INTO ${REBUILT}.${table} BY NAME SELECT ${rows} FROM (SELECT ${columns.map(quoteName).join(', ')} FROM ${table} WHERE NOT ${oneOf(ids)})`,
    )
  }
}

/** Copies marks that no landed page supplies: `_missing_since` and `_dirty_since` of rows from the same request in both files. */
export async function preserveMarks(from: Writer, ids: readonly string[]): Promise<void> {
  for (const layout of PAGE_RECORDS.map(record => layoutOf(record))) {
    const { table } = layout.record
    await from.run(`UPDATE ${REBUILT}.${table} AS r
      SET _missing_since = coalesce(r._missing_since, l._missing_since), _dirty_since = coalesce(r._dirty_since, l._dirty_since)
      FROM ${table} AS l WHERE ${sameKey(layout.key, 'l', 'r')} AND l.${oneOf(ids)} AND l._fetched_at = r._fetched_at
        AND (l._missing_since IS NOT NULL OR l._dirty_since IS NOT NULL)`)
  }
  // An answer by id that showed a conversation as not exportable also ended its wait for a refresh.
  await from.run(`UPDATE ${REBUILT}.conversations AS r
    SET _not_exportable_since = l._not_exportable_since, _dirty_since = l._dirty_since
    FROM conversations AS l WHERE r.workspace_id = l.workspace_id AND r.agent_id = l.agent_id AND r.conversation_id = l.conversation_id
      AND l.${oneOf(ids)} AND l._fetched_at = r._fetched_at AND l._not_exportable_since IS NOT NULL AND r._not_exportable_since IS NULL`)
}

export interface LostRows {
  table: string
  rows: number
  /** Keys of some of the rows. */
  some: string[]
}

/** Returns records without a row in the rebuilt warehouse, by table. */
export async function lostRows(from: Writer, ids: readonly string[]): Promise<LostRows[]> {
  const lost: LostRows[] = []
  for (const layout of RECORD_TYPES.map(record => layoutOf(record))) {
    const { table } = layout.record
    const key = layout.key.filter(column => column !== 'workspace_id').join(', ')
    const [row] = await from.rows<{ n: string; some: string[] | null }>(`
      SELECT count(*)::VARCHAR AS n, list(concat_ws(' ', ${key}) ORDER BY ${key})[1:5] AS some FROM ${table} AS l
      WHERE ${oneOf(ids)} AND NOT EXISTS (SELECT 1 FROM ${REBUILT}.${table} AS r WHERE ${sameKey(layout.key, 'l', 'r')})`)
    if (row!.n !== '0') lost.push({ table, rows: Number(row!.n), some: row!.some ?? [] })
  }
  return lost
}

/** Copies records of earlier pages that the rebuilt warehouse lacks or has in an older version. */
export async function preserveLostRows(from: Writer, workspaceId: string): Promise<void> {
  for (const record of PAGE_RECORDS)
    await copyRecords(from, layoutOf(record), `workspace_id = ${quoteText(workspaceId)}`)
}

/** Copies the time when each record was first quarantined, since the rebuilt warehouse has quarantined it just now. */
export const preserveQuarantinedSince = (from: Writer, ids: readonly string[]): Promise<void> =>
  from.run(`UPDATE ${REBUILT}._quarantine AS r SET quarantined_at = l.quarantined_at
    FROM _quarantine AS l WHERE l.workspace_id = r.workspace_id AND l.file = r.file AND l.element = r.element AND l.${oneOf(ids)}`)

/** Copies records and their children that the rebuilt warehouse lacks, has in an older version, or has only from events. */
async function copyRecords(from: Writer, layout: Layout, here: string): Promise<void> {
  const { table } = layout.record
  const key = layout.key.join(', ')
  await from.run(`CREATE OR REPLACE TEMP TABLE preserved AS SELECT ${key} FROM ${table} AS l WHERE ${here} AND NOT EXISTS
    (SELECT 1 FROM ${REBUILT}.${table} AS r WHERE ${sameKey(layout.key, 'l', 'r')}
      AND (NOT l._complete OR (r._complete AND r._fetched_at >= l._fetched_at)))`)
  if ((await from.rows('SELECT 1 FROM preserved LIMIT 1')).length === 0) return
  const rows = renumbered(await lastNumber(from, layout, REBUILT))
  for (const { name } of tablesOf(layout)) {
    await from.run(`DELETE FROM ${REBUILT}.${name} WHERE (${key}) IN (SELECT ${key} FROM preserved)`)
    const columns = await sharedColumns(from, name)
    await from.run(
      `INSERT INTO ${REBUILT}.${name} BY NAME SELECT ${rows} FROM (SELECT ${columns} FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM preserved))`,
    )
  }
}

/** Copies rows whose values of `columns` occur in no row of the rebuilt table. */
async function copyAbsent(from: Writer, here: string, table: string, columns: readonly string[]): Promise<void> {
  const same = columns.map(column => `r.${column} IS NOT DISTINCT FROM l.${column}`).join(' AND ')
  const shared = await sharedColumns(from, table)
  await from.run(`INSERT INTO ${REBUILT}.${table} BY NAME SELECT ${shared} FROM ${table} AS l WHERE ${here}
    AND NOT EXISTS (SELECT 1 FROM ${REBUILT}.${table} AS r WHERE r.workspace_id = l.workspace_id AND ${same})`)
}

/** Merges the counts of findings, because files that are gone contributed to them. */
async function mergeCounts(from: Writer, here: string, table: string, columns: readonly string[]): Promise<void> {
  const same = ['workspace_id', ...columns].map(column => `r.${column} = l.${column}`).join(' AND ')
  const earlier = '(l.first_seen, l.example_file) < (r.first_seen, r.example_file)'
  await from.run(`UPDATE ${REBUILT}.${table} AS r SET occurrences = greatest(r.occurrences, l.occurrences),
      last_seen = greatest(r.last_seen, l.last_seen), first_seen = least(r.first_seen, l.first_seen),
      seen = CASE WHEN ${earlier} THEN l.seen ELSE r.seen END,
      example_file = CASE WHEN ${earlier} THEN l.example_file ELSE r.example_file END
    FROM ${table} AS l WHERE l.${here} AND ${same}`)
  await copyAbsent(from, here, table, columns)
}

/**
 * Copies rows that only files missing from the landing supplied: records, coverage, requests, quarantine. Without their
 * coverage, conversations would be exported and billed again; coverage without records would hide them for good.
 */
export async function preserveGoneFiles(from: Writer, workspaceId: string, gone: readonly string[]): Promise<void> {
  if (gone.length === 0) return
  const here = `workspace_id = ${quoteText(workspaceId)}`
  await from.run('CREATE OR REPLACE TEMP TABLE gone (file VARCHAR)')
  await from.append(
    'gone',
    gone.map(file => ({ file })),
  )
  for (const record of PAGE_RECORDS) await copyRecords(from, layoutOf(record), here)
  // A preserved base had dropped these patches, but events have just added them again.
  await from.run(`DELETE FROM ${REBUILT}.conversation_patches AS p WHERE p.${here}
    AND EXISTS (SELECT 1 FROM conversations AS l WHERE l.workspace_id = p.workspace_id AND l.agent_id = p.agent_id
      AND l.conversation_id = p.conversation_id AND l._complete AND p.as_of <= l._as_of)
    AND NOT EXISTS (SELECT 1 FROM conversation_patches AS o WHERE o.workspace_id = p.workspace_id AND o.agent_id = p.agent_id
      AND o.conversation_id = p.conversation_id AND o.key = p.key)`)
  const windows = `(agent_id, window_name) IN (SELECT agent_id, window_name FROM _requests WHERE ${here} AND file IN (FROM gone))`
  await from.run(`DELETE FROM ${REBUILT}._windows WHERE ${here} AND ${windows}`)
  const copy = async (table: string, which: string) =>
    from.run(`INSERT INTO ${REBUILT}.${table} BY NAME
      SELECT ${await sharedColumns(from, table)} FROM ${table} WHERE ${here} AND ${which}`)
  await copy('_windows', windows)
  await copyCoverage(from, workspaceId, REBUILT)
  for (const table of ['_loads', '_requests', '_quarantine', '_absences']) await copy(table, 'file IN (FROM gone)')
  // The ranges of pages next to a missing page derive from that page.
  await from.run(`UPDATE ${REBUILT}._requests AS r SET from_at = l.from_at, to_at = l.to_at
    FROM _requests AS l WHERE l.${here} AND r.workspace_id = l.workspace_id AND r.file = l.file
      AND (l.agent_id, l.window_name) IN (SELECT agent_id, window_name FROM _requests WHERE ${here} AND file IN (FROM gone))`)
  // EXCEPT ALL, because two pages may have reported the same at the same time.
  const quota = await sharedColumns(from, '_quota')
  await from.run(`INSERT INTO ${REBUILT}._quota BY NAME
    (SELECT ${quota} FROM _quota WHERE ${here} EXCEPT ALL SELECT ${quota} FROM ${REBUILT}._quota WHERE ${here})`)
  await mergeCounts(from, here, '_drift', ['record', 'path'])
  await mergeCounts(from, here, '_issues', ['record', 'path', 'issue'])
  await copyAbsent(from, here, '_measured_refreshes', ['agent_id', 'conversation_id', 'requested_at'])
  await copyAbsent(from, here, 'conversation_observations', ['agent_id', 'conversation_id', 'observed_at', 'source'])
}

const EVENTS = webhookEvent.table

/** SQL condition for conversations that a lost event names. */
const OF_LOST = '(agent_id, conversation_id) IN (SELECT agent_id, conversation_id FROM lost_events)'

/** Finds the events that the rebuilt warehouse lacks. @returns their number */
async function findLost(from: Writer, here: string): Promise<number> {
  await from.run(`CREATE OR REPLACE TEMP TABLE lost_events AS SELECT event_id, agent_id, conversation_id FROM ${EVENTS} AS l
    WHERE ${here} AND NOT EXISTS (SELECT 1 FROM ${REBUILT}.${EVENTS} AS r WHERE r.workspace_id = l.workspace_id AND r.event_id = l.event_id)`)
  const [row] = await from.rows<{ n: string }>('SELECT count(*)::VARCHAR AS n FROM lost_events')
  return Number(row!.n)
}

/** Copies lost events' rows in `webhook_events`, without the addresses of their payloads, and in the tables of their types. */
async function copyEvents(from: Writer, here: string): Promise<void> {
  const columns = await sharedColumns(from, EVENTS)
  const kept = columns.split(', ').filter(column => !['"payload_file"', '"payload_offset"'].includes(column))
  const lost = `${here} AND event_id IN (SELECT event_id FROM lost_events)`
  await from.run(`INSERT INTO ${REBUILT}.${EVENTS} BY NAME SELECT ${kept.join(', ')} FROM ${EVENTS} WHERE ${lost}`)
  for (const layout of [...OWN_RECORDS.values()].map(record => layoutOf(record))) {
    const rows = layout.children.length > 0 ? renumbered(await lastNumber(from, layout, REBUILT)) : '*'
    for (const { name } of tablesOf(layout)) {
      const shared = await sharedColumns(from, name)
      await from.run(
        `INSERT INTO ${REBUILT}.${name} BY NAME SELECT ${rows} FROM (SELECT ${shared} FROM ${name} WHERE ${lost})`,
      )
    }
  }
}

/** Copies the findings in lost events. */
async function copyFindings(from: Writer, here: string): Promise<void> {
  const columns = await sharedColumns(from, '_quarantine')
  await from.run(`INSERT INTO ${REBUILT}._quarantine BY NAME SELECT ${columns} FROM _quarantine
    WHERE ${here} AND record = ${quoteText(webhookEvent.name)} AND split_part(file, '#', -1) IN (SELECT event_id FROM lost_events)`)
  const records = EVENT_RECORDS.map(({ name }) => quoteText(name)).join(', ')
  const ofEvents = `${here} AND l.record IN (${records})`
  await mergeCounts(from, ofEvents, '_drift', ['record', 'path'])
  await mergeCounts(from, ofEvents, '_issues', ['record', 'path', 'issue'])
}

/**
 * Copies the rows of a workspace's lost events into the rebuilt warehouse. Afterwards `applyPreservedEvents` must run on that warehouse.
 * @returns the number of lost events
 */
export async function preserveEvents(from: Writer, workspaceId: string): Promise<number> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const lost = await findLost(from, here)
  if (lost === 0) return 0
  await copyEvents(from, here)
  await copyFindings(from, here)
  for (const record of [transcript, modelHistory]) await copyRecords(from, layoutOf(record), `${here} AND ${OF_LOST}`)
  const sighting = ['agent_id', 'conversation_id', 'observed_at', 'source']
  await copyAbsent(from, `${here} AND source = 'webhook' AND ${OF_LOST}`, 'conversation_observations', sighting)
  const patch = ['agent_id', 'conversation_id', 'key', 'fetched_at']
  await copyAbsent(from, `${here} AND ${OF_LOST}`, 'conversation_patches', patch)
  return lost
}
