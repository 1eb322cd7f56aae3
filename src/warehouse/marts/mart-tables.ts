// The tables of the marts: creates them, and replaces rows in them.
import { logChanges } from '../changes/log-changes.ts'
import { publishedMart } from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import { type Mart, marts } from './declarations.ts'
import { inScope } from './scope.ts'

const columnsOf = ({ columns }: Mart): string => columns.map(({ name, sqlType }) => `${name} ${sqlType}`).join(', ')

/** Creates the marts that the warehouse lacks, without rows, so that a query finds them before they are first built. */
export async function createMarts(writer: Writer): Promise<void> {
  for (const mart of marts()) await writer.run(`CREATE TABLE IF NOT EXISTS marts.${mart.name} (${columnsOf(mart)})`)
}

/** Creates the mart again, without rows, inside the caller's transaction. */
export const emptyMart = (writer: Writer, mart: Mart): Promise<void> =>
  writer.run(`CREATE OR REPLACE TABLE marts.${mart.name} (${columnsOf(mart)})`)

/** Adds the rows in scope. Sorted, because a filter by day then skips most of them. */
export const addScope = (writer: Writer, mart: Mart): Promise<void> =>
  writer.run(
    `INSERT INTO marts.${mart.name} BY NAME FROM (${inScope(mart)}) ORDER BY ${mart.month ?? mart.grain.join(', ')}`,
  )

/** Drops the mart's rows and fills it, inside the caller's transaction. */
export async function fillMart(writer: Writer, mart: Mart): Promise<void> {
  await emptyMart(writer, mart)
  await writer.run(`INSERT INTO marts.${mart.name} BY NAME ${mart.select}`)
}

/** The rows as they were computed last. */
const FRESH = 'fresh_rows'

interface ReplacedScope {
  /** SQL relation. */
  scope: string
  columns: readonly string[]
  /** A mart of days is built from this one. */
  touchesDays: boolean
}

/**
 * Replaces the rows whose `columns` are in `scope` by those that the mart's SELECT returns, inside the caller's
 * transaction.
 */
export async function replaceScope(
  writer: Writer,
  mart: Mart,
  { scope, columns, touchesDays }: ReplacedScope,
): Promise<void> {
  const { name, grain } = mart
  await writer.run(
    `CREATE OR REPLACE TEMP TABLE stale_rows AS SELECT rowid AS id FROM marts.${name} SEMI JOIN ${scope} USING (${columns.join(', ')})`,
  )
  const stale = `(SELECT t.* FROM marts.${name} t SEMI JOIN stale_rows i ON t.rowid = i.id)`
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${FRESH} AS ${inScope(mart)}`)
  if (touchesDays) await touchDays(writer, stale)
  const keys = grain.join(', ')
  await logChanges(writer, {
    table: publishedMart(mart).table,
    keys: `SELECT ${keys} FROM ${stale} UNION SELECT ${keys} FROM ${FRESH}`,
  })
  await writer.run(`DELETE FROM marts.${name} WHERE rowid IN (SELECT id FROM stale_rows)`)
  await writer.run(`INSERT INTO marts.${name} BY NAME FROM ${FRESH}`)
}

/** Adds the days of the replaced rows, old and new. */
async function touchDays(writer: Writer, stale: string): Promise<void> {
  const days = (from: string): string => `SELECT workspace_id, agent_id, day FROM ${from} WHERE day IS NOT NULL`
  await writer.run(`INSERT INTO touched_days SELECT * FROM (${days(stale)} UNION ${days(FRESH)})
    ANTI JOIN touched_days USING (workspace_id, agent_id, day)`)
}

/**
 * Computes the whole mart and replaces the rows that differ, inside the caller's transaction; their keys are in the temporary table
 * `changed_NAME` afterwards. @returns whether any did
 */
export async function replaceDifferent(writer: Writer, mart: Mart): Promise<boolean> {
  const { name, grain, select } = mart
  const keys = grain.join(', ')
  const changed = `changed_${name}`
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${FRESH} AS FROM marts.${name} LIMIT 0`)
  await writer.run(`INSERT INTO ${FRESH} BY NAME ${select}`)
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${changed} AS
    SELECT DISTINCT ${keys} FROM ((FROM ${FRESH} EXCEPT FROM marts.${name}) UNION ALL (FROM marts.${name} EXCEPT FROM ${FRESH}))`)
  const [any] = await writer.rows(`SELECT 1 FROM ${changed} LIMIT 1`)
  if (!any) return false
  await logChanges(writer, { table: publishedMart(mart).table, keys: `FROM ${changed}` })
  const same = grain.map(column => `t.${column} = s.${column}`).join(' AND ')
  await writer.run(`DELETE FROM marts.${name} t USING ${changed} s WHERE ${same}`)
  await writer.run(`INSERT INTO marts.${name} BY NAME FROM ${FRESH} SEMI JOIN ${changed} USING (${keys})`)
  return true
}
