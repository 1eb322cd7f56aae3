// Copies of the published tables, kept by the change log as publishing targets will: one replaces rows by key, the other whole partitions.
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Watermark } from '../../../src/warehouse/changes/log-changes.ts'
import { PUBLISHED_TABLES, type PublishedTable, partitionOf } from '../../../src/warehouse/changes/published-tables.ts'
import { type Changes, changedKeys, changesSince } from '../../../src/warehouse/changes/read-changes.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'

export interface Copy {
  /** Applies the changes, or fills the copy if the log asks for it. */
  apply(): Promise<void>
  /** Returns the number and hashes of each table's rows, in the copy or in the live tables. */
  sums(of?: 'copy' | 'live'): Promise<Record<string, string>>
  close(): Promise<void>
}

const tablesOf = ({ table, children }: PublishedTable): string[] => [table, ...children]

const keyNames = ({ key }: PublishedTable): string => key.map(({ name }) => name).join(', ')

/** Opens an empty copy in memory, on a separate connection that reads the log and the rows in one transaction. */
export async function openCopy(warehouse: Warehouse, name: string, by: 'key' | 'partition'): Promise<Copy> {
  const connection = await warehouse.instance.connect()
  const run = (sql: string) => connection.run(sql)
  await run(`ATTACH ':memory:' AS ${name}`)
  for (const table of PUBLISHED_TABLES.flatMap(tablesOf))
    await run(`CREATE TABLE ${name}.${table} AS FROM ${table} LIMIT 0`)
  const replace = by === 'key' ? replaceKeys : replacePartitions

  async function refill(): Promise<void> {
    for (const table of PUBLISHED_TABLES.flatMap(tablesOf)) {
      await run(`DELETE FROM ${name}.${table}`)
      await run(`INSERT INTO ${name}.${table} FROM ${table}`)
    }
  }

  let watermark: Watermark | null = null
  return {
    async apply() {
      await run('BEGIN')
      const answer = await changesSince(readerOf(connection), { name, watermark })
      if (answer.kind === 'refill') await refill()
      else for (const { published } of answer.tables) await replace(run, name, published, answer)
      await run('COMMIT')
      watermark = answer.to
    },
    sums: (of = 'copy') => sumsOf(connection, of === 'copy' ? name : 'warehouse'),
    async close() {
      await run(`DETACH ${name}`)
      connection.closeSync()
    },
  }
}

const readerOf = (connection: DuckDBConnection) => ({
  rows: async <R>(sql: string, params = {}) =>
    (await connection.runAndReadAll(sql, params)).getRowObjectsJson() as unknown as R[],
})

/** Returns the number and hashes of each table's rows. EXCEPT ALL over all tables took seconds to plan. */
async function sumsOf(connection: DuckDBConnection, schema: string): Promise<Record<string, string>> {
  const sums = PUBLISHED_TABLES.flatMap(tablesOf).map(
    table =>
      `SELECT '${table}' AS name, count(*) || ' ' || coalesce(sum(hash(t)::HUGEINT), 0) AS sum FROM ${schema}.main.${table} t`,
  )
  const rows = await readerOf(connection).rows<{ name: string; sum: string }>(sums.join(' UNION ALL '))
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]))
}

type Run = (sql: string) => Promise<unknown>

/** Replaces the rows of changed keys. */
async function replaceKeys(run: Run, copy: string, published: PublishedTable, changes: Changes): Promise<void> {
  await run(`CREATE OR REPLACE TABLE ${copy}.changed AS ${changedKeys(published, changes)}`)
  const columns = keyNames(published)
  for (const table of tablesOf(published)) {
    await run(`DELETE FROM ${copy}.${table} WHERE (${columns}) IN (SELECT ${columns} FROM ${copy}.changed)`)
    await run(
      `INSERT INTO ${copy}.${table} FROM ${table} WHERE (${columns}) IN (SELECT ${columns} FROM ${copy}.changed)`,
    )
  }
}

/** Replaces the partitions that changed rows belonged to before and belong to now. */
async function replacePartitions(run: Run, copy: string, published: PublishedTable, changes: Changes): Promise<void> {
  const { table, children } = published
  const columns = keyNames(published)
  const range = `table_name = '${table}' AND seq > ${changes.from.seq} AND seq <= ${changes.to.seq}`
  await run(`CREATE OR REPLACE TABLE ${copy}.partitions AS
    SELECT partition_before AS month FROM _changes WHERE ${range}
    UNION SELECT ${partitionOf(published, 't')} FROM ${table} t WHERE (${columns}) IN (${changedKeys(published, changes)})`)
  const inPartitions = `EXISTS (SELECT 1 FROM ${copy}.partitions p WHERE p.month IS NOT DISTINCT FROM ${partitionOf(published, 't')})`
  for (const child of children) {
    const of = (schema: string) => `(${columns}) IN (SELECT ${columns} FROM ${schema}${table} t WHERE ${inPartitions})`
    await run(`DELETE FROM ${copy}.${child} WHERE ${of(`${copy}.`)}`)
    await run(`INSERT INTO ${copy}.${child} FROM ${child} WHERE ${of('')}`)
  }
  await run(`DELETE FROM ${copy}.${table} t WHERE ${inPartitions}`)
  await run(`INSERT INTO ${copy}.${table} FROM ${table} t WHERE ${inPartitions}`)
}
