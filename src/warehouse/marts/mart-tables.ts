// The tables of the marts: creates them, and replaces rows in them.
import { appendEntries, logChanges } from '../changes/log-changes.ts'
import { keyList, partitionOf, publishedMart } from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import { type Mart, marts } from './declarations.ts'
import { created, type Scope, selectInScope, touchedGroups } from './scope.ts'

const columnsOf = ({ columns }: Mart): string => columns.map(({ name, sqlType }) => `${name} ${sqlType}`).join(', ')

/** Creates the marts that the warehouse lacks, without rows, so that a query finds them before they are first built. */
export async function createMarts(writer: Writer): Promise<void> {
  for (const mart of marts()) await writer.run(`CREATE TABLE IF NOT EXISTS marts.${mart.name} (${columnsOf(mart)})`)
}

/** Creates the mart again, without rows, inside the caller's transaction. */
export const emptyMart = (writer: Writer, mart: Mart): Promise<void> =>
  writer.run(`CREATE OR REPLACE TABLE marts.${mart.name} (${columnsOf(mart)})`)

/** Adds the rows in scope. Sorted, because a filter by day then skips most of them. */
export const addScope = (writer: Writer, mart: Mart, scope: Scope): Promise<void> =>
  writer.run(
    `INSERT INTO marts.${mart.name} BY NAME FROM (${selectInScope(mart.select, scope)}) ORDER BY ${mart.month ?? mart.grain.join(', ')}`,
  )

/** Drops the mart's rows and fills it, inside the caller's transaction. */
export async function fillMart(writer: Writer, mart: Mart): Promise<void> {
  await emptyMart(writer, mart)
  await writer.run(`INSERT INTO marts.${mart.name} BY NAME ${mart.select}`)
}

/** Of a mart that is computed as a whole: the rows as they were computed last. */
const FRESH = 'fresh_rows'

interface Replaced {
  /** SQL relation of the values of `columns` in the rows that are replaced. */
  of: string
  columns: readonly string[]
  /** What the mart's SELECT reads. */
  scope: Scope
  /** Marts of groups that are built from this one. */
  daily: readonly Mart[]
}

/**
 * Replaces the rows whose `columns` are in `of` by those that the mart's SELECT returns, inside the caller's
 * transaction. @returns false if there are none of either
 */
export async function replaceScope(
  writer: Writer,
  mart: Mart,
  { of, columns, scope, daily }: Replaced,
): Promise<boolean> {
  const { name, grain, month } = mart
  const published = publishedMart(mart)
  const kept = new Set([...grain, ...(month ? [month] : []), ...daily.flatMap(each => each.grain)])
  // The mart is searched once: what is asked of the rows later is taken from here.
  const [stale, fresh] = [`stale_${name}`, `fresh_${name}`]
  const staleRows = await created(
    writer,
    stale,
    `SELECT rowid AS id, ${[...kept].join(', ')} FROM marts.${name} SEMI JOIN ${of} USING (${columns.join(', ')})`,
  )
  const freshRows = await created(writer, fresh, selectInScope(mart.select, scope))
  if (staleRows + freshRows === 0) return false
  for (const each of daily) {
    const groups = (from: string): string => `SELECT ${each.grain.join(', ')} FROM ${from} WHERE day IS NOT NULL`
    await writer.run(`INSERT INTO ${touchedGroups(each)} ${groups(stale)} UNION ${groups(fresh)}`)
  }
  await appendEntries(
    writer,
    published.table,
    `SELECT ${keyList(published, 's')} AS key, ${partitionOf(published, 's')} AS partition_before, 'update' AS op FROM ${stale} s
     UNION ALL
     SELECT ${keyList(published, 'f')}, NULL::DATE, 'insert' FROM ${fresh} f ANTI JOIN ${stale} USING (${grain.join(', ')})`,
  )
  if (staleRows > 0) await writer.run(`DELETE FROM marts.${name} WHERE rowid IN (SELECT id FROM ${stale})`)
  if (freshRows > 0) await writer.run(`INSERT INTO marts.${name} BY NAME FROM ${fresh}`)
  return true
}

/**
 * Computes the whole mart and replaces the rows that differ, inside the caller's transaction; their keys are in the temporary table
 * `changed_NAME` afterwards. @returns whether any did
 */
export async function replaceDifferent(writer: Writer, mart: Mart): Promise<boolean> {
  const { name, grain, select } = mart
  const keys = grain.join(', ')
  const changed = `changed_${name}`
  await created(writer, FRESH, `FROM marts.${name} LIMIT 0`)
  await writer.run(`INSERT INTO ${FRESH} BY NAME ${select}`)
  const rows = await created(
    writer,
    changed,
    `SELECT DISTINCT ${keys} FROM ((FROM ${FRESH} EXCEPT FROM marts.${name}) UNION ALL (FROM marts.${name} EXCEPT FROM ${FRESH}))`,
  )
  if (rows === 0) return false
  await logChanges(writer, { table: publishedMart(mart).table, keys: `FROM ${changed}` })
  const same = grain.map(column => `t.${column} = s.${column}`).join(' AND ')
  await writer.run(`DELETE FROM marts.${name} t USING ${changed} s WHERE ${same}`)
  await writer.run(`INSERT INTO marts.${name} BY NAME FROM ${FRESH} SEMI JOIN ${changed} USING (${keys})`)
  return true
}
