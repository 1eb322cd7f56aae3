// Removes what the catalog of a lake in a file keeps of erased rows: statistics of removed data files have values of their rows, and deleted
// rows survive in the free blocks of a file of SQLite or DuckDB.
import { chmod, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import type { LakeCatalog } from '../../config/lake-target.ts'
import { syncFile, syncFolder } from '../../files/durable.ts'
import { type TargetDatabase, transaction } from '../target-database.ts'
import { SQLITE_WAIT_MS } from './lake.ts'
import { ERASES } from './versions.ts'

type FileCatalog = Exclude<LakeCatalog, { type: 'postgres' }>

/** The erasure is complete when these rows are without what deleted ones have left. */
const completeErasure = ({ run }: TargetDatabase, database: string): Promise<void> =>
  run(
    `UPDATE ${database}.main.ducklake_snapshot_changes SET commit_extra_info = replace(commit_extra_info, ${quoteText(ERASES)}, '"erased":true')`,
  )

const nextFile = ({ path }: FileCatalog): string => `${path}.convohouse-next`

async function removeNext(catalog: FileCatalog): Promise<void> {
  for (const ending of ['', '.wal', '-journal']) await rm(nextFile(catalog) + ending, { force: true })
}

/** Names of the tables that DuckLake creates: others are their owner's. */
async function ducklakeTables(database: TargetDatabase, catalog: FileCatalog): Promise<string[]> {
  await removeNext(catalog)
  try {
    const options = `DATA_PATH ${quoteText(dirname(catalog.path))}`
    await database.run(`ATTACH ${quoteText(`ducklake:sqlite:${nextFile(catalog)}`)} AS next_lake (${options})`)
    await database.run('DETACH next_lake')
    await database.run(`ATTACH ${quoteText(nextFile(catalog))} AS next (TYPE sqlite, READ_ONLY)`)
    const tables = await database.rows<{ name: string }>(
      `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = 'next'`,
    )
    return tables.map(({ name }) => name)
  } finally {
    await database.run('DETACH next').catch(() => {})
    await removeNext(catalog)
  }
}

interface Sqlite {
  database: TargetDatabase
  /** Runs SQLite's own SQL in the present transaction. */
  query: (sql: string) => Promise<Record<string, string>[]>
}

/** Fills the pages that are free with a table, and no others, so that the file does not grow. Requires `secure_delete`. */
async function overwriteFreePages({ database: { run }, query }: Sqlite): Promise<void> {
  const table = 'catalog_file.main.convohouse_free_pages'
  await run(`CREATE TABLE ${table} (filled VARCHAR)`)
  for (;;) {
    const [found] = await query('SELECT page_size, freelist_count FROM pragma_page_size(), pragma_freelist_count()')
    const [size, free] = [Number(found!.page_size), Number(found!.freelist_count)]
    if (free === 0) break
    // A long text of 16 pages takes 18 with what leads to it, and a short one a page.
    const [rows, bytes] = free >= 18 ? [Math.floor(free / 18), 16 * size] : [1, Math.floor(0.7 * size)]
    await run(`INSERT INTO ${table} SELECT repeat('0', ${bytes}) FROM range(${rows})`)
  }
  await run(`DROP TABLE ${table}`)
}

/**
 * Writes DuckLake's tables in a catalog in SQLite again, in one commit, which waits for the queries that read it. The file stays the same: DuckDB opens
 * a connection for each table that a query reads, by the name of the file, and would read some tables in one file and others in the next.
 */
async function overwriteTables(database: TargetDatabase, catalog: FileCatalog): Promise<void> {
  const { run, rows } = database
  const own = await ducklakeTables(database, catalog)
  const query: Sqlite['query'] = sql => rows(`FROM sqlite_query('catalog_file', ${quoteText(sql)})`)
  await run(`ATTACH ${quoteText(catalog.path)} AS catalog_file (TYPE sqlite, BUSY_TIMEOUT ${SQLITE_WAIT_MS})`)
  try {
    await transaction({ database }, async () => {
      // Of the connection of this transaction: what it frees, and what it takes of that, is overwritten.
      await query('PRAGMA secure_delete = ON')
      // With a full cache SQLite would wait for readers for each page, and keep others away meanwhile. DuckDB reports that there is no answer.
      await query('PRAGMA cache_size = -256000').catch(() => {})
      await overwriteFreePages({ database, query })
      const tables = await query(`SELECT name, sql FROM sqlite_master WHERE type = 'table'`)
      for (const { name, sql } of tables) {
        if (!own.includes(name!) && !name!.startsWith('ducklake_inlined_')) continue
        const table = `catalog_file.main.${quoteName(name!)}`
        await run(`CREATE OR REPLACE TEMP TABLE kept AS FROM ${table}`)
        // Deleted rows alone would leave the table's first page, with what it had between rows.
        await run(`DROP TABLE ${table}`)
        await run(`CREATE TABLE ${table} ${sql!.slice(sql!.indexOf('('))}`)
        await run(`INSERT INTO ${table} FROM kept`)
      }
      await run('DROP TABLE IF EXISTS kept')
      await completeErasure(database, 'catalog_file')
    })
  } finally {
    await run('DETACH catalog_file').catch(() => {})
  }
}

/** A catalog in a DuckDB file is copied, and replaced by `rename`. It stays open until then, so that nobody writes it. */
async function replaceFile(database: TargetDatabase, catalog: FileCatalog): Promise<void> {
  const next = nextFile(catalog)
  const { mode } = await stat(catalog.path)
  await removeNext(catalog)
  try {
    await database.run(`ATTACH ${quoteText(catalog.path)} AS earlier (READ_ONLY)`)
    await database.run(`ATTACH ${quoteText(next)} AS next`)
    // With all that its owner has put into it.
    await database.run('COPY FROM DATABASE earlier TO next')
    await completeErasure(database, 'next')
    await database.run('CHECKPOINT next')
    await database.run('DETACH next')
    await chmod(next, mode & 0o777)
    await syncFile(next)
    await rename(next, catalog.path)
    await syncFolder(dirname(catalog.path))
  } catch (cause) {
    await database.run('DETACH next').catch(() => {})
    await removeNext(catalog).catch(() => {})
    throw cause
  } finally {
    await database.run('DETACH earlier').catch(() => {})
  }
}

/** Requires the target's lock, and a path without symbolic links. */
export const rewriteCatalog = (database: TargetDatabase, catalog: FileCatalog): Promise<void> =>
  catalog.type === 'sqlite' ? overwriteTables(database, catalog) : replaceFile(database, catalog)
