// Opens the warehouse file for reading in this process, if no other process holds it.

import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { openingError } from '../fault.ts'
import { expectLayout } from '../maintenance/create-tables.ts'
import { expectFile } from '../open.ts'
import { statementsRun, watchStatementsOf } from '../statements/watchdog.ts'
import { createSpillParent, spillFolder } from '../temporary-files.ts'
import { partOf } from './parquet.ts'

interface ReaderOptions {
  /** The DuckDB file. */
  file: string
  /** Syntax as in DuckDB: `1GB`. */
  memoryLimit: string
  threads: number
  /** The Parquet file that `copyToParquet` will write: the only file besides the warehouse that the connection may access. */
  parquetFile?: string
}

export interface Reader {
  connection: DuckDBConnection
  close(): void
}

/**
 * Opens the warehouse READ_ONLY without access to files and network, with locked settings, in UTC. A process that holds the warehouse must not call
 * this, since closing a second instance releases the lock of the first.
 *
 * @throws WAREHOUSE_MISSING; WAREHOUSE_LAYOUT; WAREHOUSE_LOCKED if another process holds it, which then answers queries on its socket; HOME_UNUSABLE
 */
export async function openReader(options: ReaderOptions): Promise<Reader> {
  const spill = spillFolder(options.file)
  const instance = await openFile(options, spill)
  try {
    const connection = await instance.connect()
    await restrict(connection, options.parquetFile)
    const rows = async <R>(sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson() as R[]
    await expectLayout(rows, options.file)
    watchStatementsOf({ home: dirname(options.file), memoryLimit: options.memoryLimit })
    return {
      connection,
      close: () => {
        // Closing would wait for a statement that DuckDB does not interrupt. The process is about to end.
        if (statementsRun()) return
        connection.closeSync()
        instance.closeSync()
        removeSpill(spill)
      },
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}

function removeSpill(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // The next writer removes leftover folders.
  }
}

async function openFile({ file, memoryLimit, threads }: ReaderOptions, spill: string): Promise<DuckDBInstance> {
  expectFile(file)
  // Fails in a read-only folder; a query that does not fit into memory then reports that it cannot spill.
  await createSpillParent(file).catch(() => {})
  try {
    return await DuckDBInstance.create(file, {
      access_mode: 'READ_ONLY',
      memory_limit: memoryLimit,
      temp_directory: spill,
      threads: String(threads),
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    })
  } catch (cause) {
    throw openingError(file, cause)
  }
}

async function restrict(connection: DuckDBConnection, parquetFile: string | undefined): Promise<void> {
  await connection.run("SET GLOBAL TimeZone = 'UTC'")
  if (parquetFile !== undefined) {
    const part = partOf(parquetFile).replaceAll("'", "''")
    await connection.run(`SET allowed_paths = ['${part}']`)
  }
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
}
