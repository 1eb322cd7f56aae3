// A caller's SELECT as a Parquet file, written by DuckDB itself: no row passes through JavaScript.

import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { ConvohouseError } from '../../core/errors.ts'
import { prepareCast } from './casts.ts'
import { guard } from './guard/guard.ts'
import { openSession, type QueryLimits, type QuerySession } from './session.ts'
import { withoutFirstLine } from './stream-failure.ts'

export interface ParquetRequest extends QueryLimits {
  connection: DuckDBConnection
  sql: string
  /** Where the file shall be; one that is there is replaced in one step, or stays as it is. */
  file: string
}

export interface ParquetFile {
  rows: number
  bytes: number
}

/** The name that a file is written under until it is whole, beside its target so that it can be renamed. */
export function partOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.${process.pid}.part`)
}

/**
 * Writes what a guarded SELECT answers to a Parquet file, durably, and returns its size in bytes and its rows.
 * The file is there whole or not at all.
 *
 * @throws SQL_REFUSED (EXPLAIN too: it has no rows to keep), SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED, HOME_UNUSABLE
 */
export async function copyToParquet(request: ParquetRequest): Promise<ParquetFile> {
  const part = partOf(request.file)
  try {
    // DuckDB would make it readable for everybody: people's messages are in it.
    await (await open(part, 'w', 0o600).catch(cause => Promise.reject(unwritable(request.file, cause)))).close()
    const session = await openSession(request.connection, request)
    const rows = await copyIn(session, { ...request, part }).finally(() => session.closeSoon())
    await putInPlace(part, request.file)
    return { rows, bytes: (await stat(request.file)).size }
  } catch (error) {
    await rm(part, { force: true })
    // DuckDB tells of a full disk as of any error in SQL, and names the file.
    const message = error instanceof ConvohouseError ? error.message : ''
    if (message.startsWith('IO Error') && message.includes(part))
      throw unwritable(request.file, message.split(': ').at(-1))
    throw error
  }
}

/** Writes the Parquet file as it comes, in a session that its owner opened and closes; returns the rows. */
export async function copyIn(
  session: QuerySession,
  { connection, sql, part }: { connection: DuckDBConnection; sql: string; part: string },
): Promise<number> {
  const guarded = await session.step(() => guard(connection, sql))
  if (guarded.kind === 'explain') {
    throw new ConvohouseError('SQL_REFUSED', {
      what: 'EXPLAIN cannot be written as Parquet.',
      hint: 'Take another format.',
    })
  }
  const { cast } = await session.step(() => prepareCast('columns', connection, guarded))
  const target = part.replaceAll("'", "''")
  // FROM (…) takes DESCRIBE and SHOW as well, which COPY itself does not.
  const select = cast ?? `FROM (\n${guarded.sql}\n)`
  const copy = `COPY (${select}) TO '${target}' (FORMAT parquet, USE_TMP_FILE false)`
  return (await session.step(() => connection.run(copy).catch(withoutFirstLine))).rowsChanged
}

/** Makes a whole file durable and gives it its name. */
export async function putInPlace(part: string, file: string): Promise<void> {
  try {
    await syncFile(part, 'r+')
    await rename(part, file)
    // Windows opens no folder, and keeps renames without it.
    if (process.platform !== 'win32') await syncFile(dirname(file), 'r')
  } catch (cause) {
    throw unwritable(file, cause)
  }
}

const unwritable = (file: string, cause: unknown): ConvohouseError =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `${file} cannot be written: ${(cause as NodeJS.ErrnoException | undefined)?.code ?? String(cause)}.`,
    hint: 'Give another file, in a folder that you may write to.',
    cause,
  })

async function syncFile(path: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
