// Rewrites the catalog of a lake, a file: statistics of removed data files have values of their rows, and deleted rows survive in the free
// blocks of a file of SQLite or DuckDB.
import { existsSync } from 'node:fs'
import { chmod, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import type { LakeCatalog } from '../../config/lake-target.ts'
import { syncFile, syncFolder } from '../../files/durable.ts'
import type { TargetDatabase } from '../target-database.ts'
import { SQLITE_WAIT_MS } from './lake.ts'
import { ERASES } from './versions.ts'

type FileCatalog = Exclude<LakeCatalog, { type: 'postgres' }>

const nextFile = ({ path }: FileCatalog): string => `${path}.next`

async function removeNext(catalog: FileCatalog): Promise<void> {
  for (const ending of ['', '.wal', '-journal', '-wal', '-shm']) await rm(nextFile(catalog) + ending, { force: true })
}

/** DuckLake creates the tables, with their keys. */
async function createNext(database: TargetDatabase, catalog: FileCatalog, data: string): Promise<void> {
  const address = `ducklake:${catalog.type === 'sqlite' ? 'sqlite:' : ''}${nextFile(catalog)}`
  await database.run(`ATTACH ${quoteText(address)} AS next_lake (DATA_PATH ${quoteText(data)})`)
  await database.run('DETACH next_lake')
}

async function copyTables({ run, rows }: TargetDatabase): Promise<void> {
  const tables = await rows<{ name: string; isNew: boolean }>(`
    SELECT table_name AS name, NOT bool_or(database_name = 'next') AS "isNew" FROM duckdb_tables()
    WHERE database_name IN ('earlier', 'next') AND NOT internal GROUP BY table_name HAVING bool_or(database_name = 'earlier')`)
  await run('BEGIN')
  for (const { name, isNew } of tables) {
    const [from, to] = ['earlier', 'next'].map(database => `${database}.main.${quoteName(name)}`)
    if (isNew) await run(`CREATE TABLE ${to} AS FROM ${from}`)
    else {
      await run(`DELETE FROM ${to}`)
      await run(`INSERT INTO ${to} BY NAME FROM ${from}`)
    }
  }
  // The erasure is complete when this file has the catalog's name.
  await run(
    `UPDATE next.main.ducklake_snapshot_changes SET commit_extra_info = replace(commit_extra_info, ${quoteText(ERASES)}, '"erased":true')`,
  )
  await run('COMMIT')
}

async function hasEnded({ run, rows }: TargetDatabase, { path }: FileCatalog): Promise<boolean> {
  await run(`ATTACH ${quoteText(path)} AS earlier (TYPE sqlite, READ_ONLY)`)
  const versions = rows('SELECT 1 FROM earlier.main.ducklake_snapshot LIMIT 1').finally(() => run('DETACH earlier'))
  return (await versions).length === 0
}

/**
 * Leaves the earlier catalog in SQLite without a version. DuckDB opens a connection for each table that a query reads, by the name of the file: a
 * query would read some tables in the earlier file and others in the next one. This commit waits for such queries, and later ones fail.
 */
async function end({ run }: TargetDatabase, { path }: FileCatalog): Promise<void> {
  await run(`ATTACH ${quoteText(path)} AS earlier (TYPE sqlite, BUSY_TIMEOUT ${SQLITE_WAIT_MS})`)
  await run('DELETE FROM earlier.main.ducklake_snapshot').finally(() => run('DETACH earlier'))
}

async function replace(catalog: FileCatalog): Promise<void> {
  await rename(nextFile(catalog), catalog.path)
  await syncFolder(dirname(catalog.path))
}

/** Replaces a catalog that a killed process has ended. Requires the target's lock. */
export async function completeReplacement(database: TargetDatabase, given: FileCatalog): Promise<void> {
  if (given.type !== 'sqlite' || !existsSync(given.path)) return
  const catalog = { ...given, path: await realpath(given.path) }
  if (existsSync(nextFile(catalog)) && (await hasEnded(database, catalog))) await replace(catalog)
}

/** Requires the target's lock. The file is replaced by `rename`; a symbolic link is followed. */
export async function rewriteCatalog(database: TargetDatabase, given: FileCatalog): Promise<void> {
  const catalog = { ...given, path: await realpath(given.path) }
  const next = nextFile(catalog)
  const type = catalog.type === 'sqlite' ? 'TYPE sqlite' : 'TYPE duckdb'
  const { mode } = await stat(catalog.path)
  await removeNext(catalog)
  try {
    await database.run(`ATTACH ${quoteText(catalog.path)} AS earlier (${type}, READ_ONLY)`)
    const [path] = await database.rows<{ value: string }>(
      `SELECT value FROM earlier.main.ducklake_metadata WHERE key = 'data_path'`,
    )
    await createNext(database, catalog, path!.value)
    await database.run(`ATTACH ${quoteText(next)} AS next (${type})`)
    await copyTables(database)
    for (const name of ['earlier', 'next']) await database.run(`DETACH ${name}`)
    await chmod(next, mode & 0o777)
    await syncFile(next)
    await syncFolder(dirname(next))
  } catch (cause) {
    for (const name of ['earlier', 'next', 'next_lake']) await database.run(`DETACH ${name}`).catch(() => {})
    await removeNext(catalog).catch(() => {})
    throw cause
  }
  // If this fails, the next file stays: it is the only one if the earlier one has ended, and else the next attempt removes it.
  if (catalog.type === 'sqlite') await end(database, catalog)
  await replace(catalog)
}
