// The tables of the marts: creates them, and replaces rows in them.
import { quoteName } from '../../catalog/layout.ts'
import { appendEntries, logChangesOf } from '../changes/log-changes.ts'
import { keyList, type PublishedTable, partitionOf, publishedMart, sameKeys } from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import { type Mart, type MartColumn, marts } from './declarations.ts'
import { byIds, created, type Scope, selectInScope } from './scope.ts'

const columnsOf = ({ columns }: Mart): string => columns.map(({ name, sqlType }) => `${name} ${sqlType}`).join(', ')

/** Creates the marts that the warehouse lacks, without rows, so that a query finds them before they are first built. */
export async function createMarts(writer: Writer): Promise<void> {
  const statements = marts().map(mart => `CREATE TABLE IF NOT EXISTS marts.${mart.name} (${columnsOf(mart)})`)
  await writer.run(statements.join(';'))
}

/** Creates the mart again, without rows, inside the caller's transaction. */
export const emptyMart = (writer: Writer, mart: Mart): Promise<void> =>
  writer.run(`CREATE OR REPLACE TABLE marts.${mart.name} (${columnsOf(mart)})`)

/** True if the mart has no row in scope, because its source tables have none. */
const isEmptyIn = ({ rowsOf }: Mart, { empty }: Scope): boolean =>
  rowsOf.length > 0 && rowsOf.every(table => empty.has(table))

/** Adds the rows in scope. They are sorted, since a filter by day then skips most of them. */
export async function addScope(writer: Writer, mart: Mart, scope: Scope): Promise<void> {
  if (isEmptyIn(mart, scope)) return
  await writer.run(
    `INSERT INTO marts.${mart.name} BY NAME FROM (${selectInScope(mart.select, scope)}) ORDER BY ${mart.month ?? mart.grain.join(', ')}`,
  )
}

/** Empties the mart and fills it, inside the caller's transaction. */
export async function fillMart(writer: Writer, mart: Mart): Promise<void> {
  await emptyMart(writer, mart)
  await writer.run(`INSERT INTO marts.${mart.name} BY NAME ${mart.select}`)
}

/** Collects a refresh's changes for one INSERT into the log, which takes as long as the query of a small mart. */
const ENTRIES = 'mart_entries'

export const beginEntries = (writer: Writer): Promise<number> =>
  created(writer, ENTRIES, 'SELECT table_name, key, partition_before, op FROM _changes LIMIT 0')

export const logEntries = (writer: Writer): Promise<void> => appendEntries(writer, `FROM ${ENTRIES}`)

const addEntries = (writer: Writer, select: string): Promise<void> =>
  writer.run(`INSERT INTO ${ENTRIES} BY NAME ${select}`)

/** Returns the SELECT of a mart's rows in scope, or of no rows if there can be none. */
const freshSelect = (mart: Mart, scope: Scope): string =>
  isEmptyIn(mart, scope) ? `FROM marts.${mart.name} LIMIT 0` : selectInScope(mart.select, scope)

interface Replaced {
  /** SQL relation of the values of `columns` in the replaced rows. */
  of: string
  columns: readonly string[]
  /** Rows that the mart's SELECT reads. */
  scope: Scope
  /** Columns of the replaced rows that are kept in `stale_NAME`, besides the key. */
  kept?: readonly string[]
}

/** Table of differing rows: the row id of the mart's row, and that of the fresh one. */
const DIFFERENT = 'different_rows'

/**
 * Returns an SQL condition that rows `s` and `f` differ in the column. In groups, the last digit of a fractional sum depends
 * on the order of rows; it does not count, since copies would replace rows for it. Infinite sums have no last digit.
 */
function differsIn({ refresh }: Mart, { name, sqlType }: MartColumn): string {
  const [s, f] = [`s.${name}`, `f.${name}`]
  const isDistinct = `${s} IS DISTINCT FROM ${f}`
  if (refresh !== 'groups' || sqlType !== 'DOUBLE') return isDistinct
  const inMore = `coalesce(abs(${s} - ${f}) > 1e-12 * greatest(abs(${s}), abs(${f})), true)`
  return `(${isDistinct} AND (${inMore} OR NOT isfinite(${s}) OR NOT isfinite(${f})))`
}

/**
 * Replaces the rows whose `columns` are in `of` by those of the mart's SELECT if they differ, inside the caller's transaction.
 * Few do, since an ongoing conversation keeps most of its facts. The rows stay in `stale_NAME` and `fresh_NAME`.
 * @returns the number of old and new rows, and of those that differ
 */
export async function replaceRows(
  writer: Writer,
  mart: Mart,
  { of, columns, scope, kept: also = [] }: Replaced,
): Promise<{ rows: number; different: number }> {
  const { name, grain, month, publishedBy } = mart
  const published = publishedMart(mart)
  const kept = new Set([...grain, ...publishedBy, ...(month ? [month] : []), ...also])
  // The mart is searched once; later steps use this copy of the rows.
  const [stale, fresh] = [`stale_${name}`, `fresh_${name}`]
  const staleRows = await created(
    writer,
    stale,
    `SELECT rowid AS id, ${[...kept].join(', ')} FROM marts.${name} SEMI JOIN ${of} USING (${columns.join(', ')})`,
  )
  const freshRows = await created(writer, fresh, freshSelect(mart, scope))
  const rows = staleRows + freshRows
  if (rows === 0) return { rows, different: 0 }
  const different = await created(
    writer,
    DIFFERENT,
    `SELECT s.id, f.rowid AS fresh FROM (SELECT t.rowid AS id, t.* FROM ${byIds(`marts.${name}`, stale)}) s
     FULL JOIN ${fresh} f ON ${grain.map(key => `s.${key} = f.${key}`).join(' AND ')}
     WHERE ${mart.columns.map(column => differsIn(mart, column)).join(' OR ')}`,
  )
  if (different === 0) return { rows, different }
  const replaced = `(FROM ${stale} SEMI JOIN ${DIFFERENT} USING (id))`
  const inserted = `(SELECT f.* FROM ${fresh} f SEMI JOIN ${DIFFERENT} d ON f.rowid = d.fresh)`
  await addEntries(
    writer,
    `SELECT DISTINCT 'marts.${name}' AS table_name, ${keyList(published, 's')} AS key, ${partitionOf(published, 's')} AS partition_before, 'update' AS op
     FROM ${replaced} s
     UNION ALL
     SELECT DISTINCT 'marts.${name}', ${keyList(published, 'f')}, NULL::DATE, 'insert' FROM ${inserted} f ANTI JOIN ${replaced} USING (${publishedBy.join(', ')})`,
  )
  await writer.run(`DELETE FROM marts.${name} WHERE rowid IN (SELECT id FROM ${DIFFERENT})`)
  await writer.run(`INSERT INTO marts.${name} BY NAME FROM ${inserted}`)
  return { rows, different }
}

/**
 * Computes the whole mart and replaces the rows that differ, inside the caller's transaction; the temporary table
 * `changed_NAME` then contains their keys. @returns true if any differ
 */
export async function replaceDifferent(writer: Writer, mart: Mart): Promise<boolean> {
  const fresh = `fresh_${mart.name}`
  await created(writer, fresh, `FROM marts.${mart.name} LIMIT 0`)
  await writer.run(`INSERT INTO ${fresh} BY NAME ${mart.select}`)
  return replaceByKey(writer, { published: publishedMart(mart), fresh, changed: `changed_${mart.name}` })
}

/**
 * Replaces the rows of a table that differ from those of `fresh`, a table with the same columns, inside the caller's
 * transaction. The temporary table `changed` then contains their keys. @returns true if any differ
 */
export async function replaceByKey(
  writer: Writer,
  { published, fresh, changed }: { published: PublishedTable; fresh: string; changed: string },
): Promise<boolean> {
  const { table, key } = published
  const keys = key.map(({ name }) => quoteName(name)).join(', ')
  const rows = await created(
    writer,
    changed,
    `SELECT DISTINCT ${keys} FROM ((FROM ${fresh} EXCEPT FROM ${table}) UNION ALL (FROM ${table} EXCEPT FROM ${fresh}))`,
  )
  if (rows === 0) return false
  await logChangesOf(writer, published, { keys: `FROM ${changed}` })
  await writer.run(`DELETE FROM ${table} t USING ${changed} s WHERE ${sameKeys(published, 't', 's')}`)
  await writer.run(`INSERT INTO ${table} BY NAME FROM ${fresh} SEMI JOIN ${changed} USING (${keys})`)
  return true
}
