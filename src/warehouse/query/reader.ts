// The warehouse file opened for reading in this process, for when no other process holds it.

import { rmSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { ConvohouseError } from '../../core/errors.ts'
import { isLocked, warehouseFault } from '../fault.ts'
import { createSpillParent, readerSpillFolder } from '../temporary-files.ts'
import { partOf } from './parquet.ts'

export interface ReaderOptions {
  /** The DuckDB file. */
  file: string
  /** As DuckDB writes it: `1GB`. */
  memoryLimit: string
  threads: number
  /** The Parquet file that `copyToParquet` is going to write; nothing else outside can be touched. */
  parquetFile?: string
}

export interface Reader {
  connection: DuckDBConnection
  close(): void
}

/**
 * Opens the warehouse READ_ONLY, shut off from files and network, its settings locked and its clock in UTC.
 * Not for a process that holds the warehouse itself: closing a second instance drops the first one's file lock.
 *
 * @throws WAREHOUSE_MISSING; WAREHOUSE_LOCKED where another process writes to it, which answers on its socket then
 */
export async function openReader(options: ReaderOptions): Promise<Reader> {
  const spill = readerSpillFolder(options.file)
  const instance = await openFile(options, spill)
  try {
    const connection = await instance.connect()
    await shut(connection, options.parquetFile)
    return {
      connection,
      close: () => {
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
    // Where it could not be made, there is nothing to remove.
  }
}

async function openFile({ file, memoryLimit, threads }: ReaderOptions, spill: string): Promise<DuckDBInstance> {
  await access(file).catch(cause => {
    throw new ConvohouseError('WAREHOUSE_MISSING', {
      what: `There is no warehouse at ${file}.`,
      hint: 'Run `convohouse sync` first, or name the right data folder (`home`, CONVOHOUSE_HOME).',
      cause,
    })
  })
  // In a folder that may only be read, a query that does not fit into memory is told so.
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
    throw openError(file, cause)
  }
}

function openError(file: string, cause: unknown): ConvohouseError {
  const message = cause instanceof Error ? cause.message : String(cause)
  if (isLocked(cause)) {
    const pid = /\(PID (\d+)\)/.exec(message)?.[1]
    return new ConvohouseError('WAREHOUSE_LOCKED', {
      what: `Another process${pid ? ` (PID ${pid})` : ''} holds the warehouse ${file}.`,
      hint: 'Wait until it has ended, or stop it.',
      cause,
      ...(pid && { facts: { pid: Number(pid) } }),
    })
  }
  return (
    warehouseFault(file, cause) ??
    new ConvohouseError('HOME_UNUSABLE', {
      what: `The warehouse ${file} cannot be opened: ${message}`,
      hint: 'If it is damaged, move it away and run `convohouse replay`.',
      cause,
    })
  )
}

async function shut(connection: DuckDBConnection, parquetFile: string | undefined): Promise<void> {
  await connection.run("SET GLOBAL TimeZone = 'UTC'")
  if (parquetFile !== undefined) {
    const part = partOf(parquetFile).replaceAll("'", "''")
    await connection.run(`SET allowed_paths = ['${part}']`)
  }
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
}
