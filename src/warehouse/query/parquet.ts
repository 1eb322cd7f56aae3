// Writes the result of a SELECT to a Parquet file. DuckDB writes it, so no row passes through JavaScript.

import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { notWritable } from '../../core/disk.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { syncFile, syncFolder } from '../../files/durable.ts'
import { queryStatement } from '../statements/held.ts'
import { columnsOf, prepareCast } from './casts.ts'
import { shapeOf } from './duckdb-values.ts'
import { PANDAS_KEY, pandasMetadata } from './formats/pandas-metadata.ts'
import { guard } from './guard/guard.ts'
import { paramValues } from './params.ts'
import type { QueryRequest } from './query.ts'
import { openSession, type QueryLimits, type QuerySession } from './session.ts'

interface ParquetRequest extends QueryLimits {
  connection: DuckDBConnection
  sql: string
  /** Path of the file; an existing one is replaced atomically or left unchanged. */
  file: string
}

export interface ParquetFile {
  rows: number
  bytes: number
}

/** Returns the temporary name of a file until it is complete, in the same folder so that it can be renamed. */
export function partOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.${process.pid}.part`)
}

/**
 * Writes the result of a guarded SELECT to a Parquet file, durably: the complete file or none.
 *
 * @throws SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED, HOME_UNUSABLE
 */
export async function copyToParquet(request: ParquetRequest): Promise<ParquetFile> {
  const part = partOf(request.file)
  try {
    // Created here with mode 0600, because it contains personal data: DuckDB would make it readable for all users.
    await (
      await open(part, 'w', 0o600).catch(cause => Promise.reject(notWritable('HOME_UNUSABLE', request.file, cause)))
    ).close()
    const statement = queryStatement(request.sql, request.timeoutMs)
    const session = await openSession(request.connection, { ...request, statement })
    const written = await copyIn(session, { ...request, part }).finally(() => session.closeSoon())
    await putInPlace(part, request.file)
    return written
  } catch (error) {
    await rm(part, { force: true })
    // DuckDB reports a full disk like an error of the SQL, but names the file.
    const message = error instanceof ConvohouseError ? error.message : ''
    if (message.startsWith('IO Error') && message.includes(part))
      throw notWritable('HOME_UNUSABLE', request.file, message.split(': ').at(-1))
    throw error
  }
}

/** Writes the Parquet file in a session that the caller opened and will close. */
export async function copyIn(
  session: QuerySession,
  { connection, sql, part, params, rules }: Omit<QueryRequest, keyof QueryLimits> & { part: string },
): Promise<ParquetFile> {
  const values = paramValues(params)
  const guarded = await session.step(() => guard(connection, sql, { ...rules, hasParams: values !== undefined }))
  const { cast } = await session.step(() => prepareCast(connection, guarded, { isFile: true, values }))
  const target = part.replaceAll("'", "''")
  // FROM (…) accepts DESCRIBE and SHOW, which COPY does not.
  const select = cast ?? `FROM (${guarded}\n)`
  const columns = await session.step(() => columnsOf(connection, select, values))
  const shapes = columns.map(({ name, type }) => ({ name, shape: shapeOf(type) }))
  const metadata = pandasMetadata(shapes).replaceAll("'", "''")
  const options = `FORMAT parquet, USE_TMP_FILE false, KV_METADATA {${PANDAS_KEY}: '${metadata}'}`
  const copy = `COPY (${select}) TO '${target}' (${options})`
  const { rowsChanged } = await session.step(() => connection.run(copy, values))
  return { rows: rowsChanged, bytes: (await stat(part)).size }
}

/** Makes a complete file durable and renames it to its target. @throws HOME_UNUSABLE */
export async function putInPlace(part: string, file: string): Promise<void> {
  try {
    await syncFile(part)
    await rename(part, file)
    // Windows cannot open a folder, and makes renames durable without it.
    if (process.platform !== 'win32') await syncFolder(dirname(file))
  } catch (cause) {
    throw notWritable('HOME_UNUSABLE', file, cause)
  }
}
