// Replaces the rows of changed keys in PostgreSQL. A conversation that goes on keeps most of its child rows and facts, so the new rows are compared with
// those that are there, and only keys whose rows differ are written: replacing equal rows took five times as long, and left dead rows and WAL behind.
import { quoteName, sameKey } from '../../../catalog/layout.ts'
import { ATTACHED, packagedRows } from '../../attached.ts'
import type { PackagedTable } from '../../package.ts'
import { hashSql, type Postgres } from './connection.ts'
import { columnType } from './representation.ts'

type Column = PackagedTable['columns'][number]

/** Returns the SQL of the definition of temporary columns. */
const definitions = (columns: readonly Column[]): string =>
  columns.map(({ name, sqlType }) => `${quoteName(name)} ${columnType(sqlType)}`).join(', ')

const namesOf = (names: readonly string[], t = ''): string => names.map(name => t + quoteName(name)).join(', ')

/** The tables of records change with every entry of the log, so there is nothing to compare. */
const isCompared = ({ isChild, name }: PackagedTable): boolean => isChild || name.startsWith('marts.')

/** The temporary tables of PostgreSQL by which a package replaces rows of one table. */
export interface Replacement {
  table: PackagedTable
  /** The changed keys; a record and its child tables share them. */
  keys: string
  /** The rows that replace those of the keys; null: they are inserted at once. */
  rows: string | null
  /** The keys whose rows differ. */
  different: string
}

/** Returns the replacements of those tables whose rows are replaced by key, by name. */
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

/** Returns the statements that create the temporary tables which DuckDB fills: it reads the catalog once. They vanish with the transaction. */
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

/** Returns the SELECT of the keys whose rows are not the same multiset before and after. */
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
 * Replaces the rows of the changed keys (`fillKeys`) in `place`. PostgreSQL deletes by the index of the keys: a DELETE of DuckDB would read the
 * whole table.
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
