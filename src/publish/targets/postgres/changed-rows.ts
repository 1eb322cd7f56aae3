// Replaces the rows of changed keys in PostgreSQL. An ongoing conversation keeps most of its child rows and facts, so the new rows are compared with
// the stored ones and only keys with differing rows are written. Replacing equal rows took five times as long, and left dead rows and WAL behind.
import { quoteName, sameKey } from '../../../catalog/layout.ts'
import { ATTACHED, packagedRows } from '../../attached.ts'
import type { PackagedTable } from '../../package.ts'
import { hashSql, type Postgres } from './connection.ts'
import { columnType } from './representation.ts'

type Column = PackagedTable['columns'][number]

/** Returns the SQL that defines temporary columns. */
const definitions = (columns: readonly Column[]): string =>
  columns.map(({ name, sqlType }) => `${quoteName(name)} ${columnType(sqlType)}`).join(', ')

const namesOf = (names: readonly string[], t = ''): string => names.map(name => t + quoteName(name)).join(', ')

/** True if rows are compared. Record tables change with every entry of the log, so there is nothing to compare. */
const isCompared = ({ isChild, name }: PackagedTable): boolean => isChild || name.startsWith('marts.')

/** Names of PostgreSQL's temporary tables for replacing rows of one table. */
export interface Replacement {
  table: PackagedTable
  /** Table of the changed keys; a record and its child tables share it. */
  keys: string
  /** Table of the new rows; null if they are inserted directly. */
  rows: string | null
  /** Table of the keys whose rows differ. */
  different: string
}

/** Returns the replacements by name of the table, for tables whose rows are replaced by key. */
export function replacementsOf(tables: readonly PackagedTable[]): Map<string, Replacement> {
  const keyed = tables.filter(({ deletes }) => deletes !== null)
  const files = [...new Set(keyed.map(({ deletes }) => deletes))]
  return new Map(
    keyed.map((table, index) => [
      table.name,
      {
        table,
        keys: `publication_keys_${files.indexOf(table.deletes)}`,
        rows: isCompared(table) && table.rows.length > 0 ? `publication_rows_${index}` : null,
        different: `publication_different_${index}`,
      },
    ]),
  )
}

/** Returns statements that create the temporary tables before DuckDB reads the catalog, which it does once. The commit drops them. */
export function temporaryTables(replacements: Iterable<Replacement>): string[] {
  const created = new Map<string, readonly Column[]>()
  for (const { table, keys, rows } of replacements) {
    const { columns } = table
    created.set(
      keys,
      table.key.map(key => columns.find(({ name }) => name === key)!),
    )
    if (rows !== null) created.set(rows, columns)
  }
  return [...created].map(([name, columns]) => `CREATE TEMP TABLE ${name} (${definitions(columns)}) ON COMMIT DROP`)
}

/** Fills the keys, each temporary table once. */
export async function fillKeys({ database, execute }: Postgres, replacements: Iterable<Replacement>): Promise<void> {
  const filled = new Set<string>()
  for (const { table, keys } of replacements) {
    if (filled.has(keys)) continue
    filled.add(keys)
    const names = namesOf(table.key)
    await database.run(`INSERT INTO ${ATTACHED}.pg_temp.${keys} SELECT ${names} FROM ${packagedRows([table.deletes!])}`)
    await execute(`ANALYZE pg_temp.${keys}`)
  }
}

/** Returns a SELECT of the keys whose old and new rows are different multisets. */
function differentKeys(place: string, { table, keys, rows }: Replacement): string {
  const columns = table.columns.map(({ name }) => name)
  const digest = `${hashSql(`ROW(${namesOf(columns, 't.')})::text`)}::numeric`
  return `SELECT ${namesOf(table.key)} FROM (
      SELECT ${namesOf(table.key, 't.')}, 1 AS n, ${digest} AS digest FROM pg_temp.${rows} t
      UNION ALL
      SELECT ${namesOf(table.key, 't.')}, -1, -${digest} FROM ${place} t JOIN pg_temp.${keys} k ON ${sameKey(table.key, 't', 'k')}) compared
    GROUP BY ${namesOf(table.key)} HAVING sum(n) <> 0 OR sum(digest) <> 0`
}

/**
 * Replaces the rows of the changed keys (`fillKeys`) in `place`. PostgreSQL deletes by the index of the keys; a DELETE
 * by DuckDB would read the whole table.
 */
export async function replaceRows(
  { database, execute }: Postgres,
  place: string,
  replacement: Replacement,
): Promise<void> {
  const { table, keys, rows, different } = replacement
  const names = namesOf(table.columns.map(({ name }) => name))
  const deleteFrom = (of: string) =>
    `DELETE FROM ${place} t USING pg_temp.${of} k WHERE ${sameKey(table.key, 't', 'k')}`
  const insertInto = (into: string) =>
    database.run(`INSERT INTO ${ATTACHED}.${into} (${names}) SELECT ${names} FROM ${packagedRows(table.rows)}`)
  if (rows === null) {
    await execute(deleteFrom(keys))
    if (table.rows.length > 0) await insertInto(place)
    return
  }
  await insertInto(`pg_temp.${rows}`)
  await execute(
    [
      `ANALYZE pg_temp.${rows}`,
      `CREATE TEMP TABLE ${different} ON COMMIT DROP AS ${differentKeys(place, replacement)}`,
      `ANALYZE pg_temp.${different}`,
      deleteFrom(different),
      `INSERT INTO ${place} (${names}) SELECT ${names} FROM pg_temp.${rows} t WHERE EXISTS (SELECT 1 FROM pg_temp.${different} k WHERE ${sameKey(table.key, 't', 'k')})`,
    ].join(';\n'),
  )
}
