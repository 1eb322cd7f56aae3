// Queries the warehouse from a process that does not hold it: opens the file for reading if no process holds it, else asks the holder.
import { setTimeout as sleep } from 'node:timers/promises'
import { isCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { warehouseFile } from '../warehouse-file.ts'
import { queryHolder, queryHolderToParquet } from './http/holder-client.ts'
import { copyToParquet, type ParquetFile } from './parquet.ts'
import { runQuery } from './query.ts'
import { openReader, type Reader } from './reader.ts'
import type { QueryResult } from './results.ts'
import type { QueryLimits } from './session.ts'

/** Location of the warehouse, and limits for a process that opens it. */
export interface WarehouseAccess {
  /** The data folder. */
  home: string
  /** Syntax as in DuckDB: `1GB`. */
  memoryLimit: string
  threads: number
}

export interface ClientQuery extends QueryLimits {
  sql: string
  maxRows?: number
}

/** A holder that is starting or ending holds the lock without answering. */
const RETRY_FOR_MS = 3 * SECOND
const RETRY_EVERY_MS = 100

/** Reads the file itself, else asks the holder. Retries for a moment if another process opens or closes the file in between. */
export async function locallyOrByHolder<T>(
  locally: () => Promise<T>,
  byHolder: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const untilMs = Date.now() + RETRY_FOR_MS
  for (;;) {
    try {
      return await locally()
    } catch (error) {
      if (!isCode(error, 'WAREHOUSE_LOCKED')) throw error
    }
    try {
      return await byHolder()
    } catch (error) {
      if (!isCode(error, 'WAREHOUSE_LOCKED') || Date.now() > untilMs || signal?.aborted) throw error
      await sleep(RETRY_EVERY_MS)
    }
  }
}

const openLocally = ({ home, memoryLimit, threads }: WarehouseAccess, parquetFile?: string): Promise<Reader> =>
  openReader({ file: warehouseFile(home), memoryLimit, threads, ...(parquetFile && { parquetFile }) })

interface WarehouseClient {
  /** Runs one SELECT, once the results of earlier ones are closed. @throws as `queryWarehouse` */
  query(query: ClientQuery): Promise<QueryResult>
  /** True if another process, which holds the warehouse, answered the last query. */
  isHeld(): boolean
  close(): void
}

/** Returns a client for several queries, which opens the file once: opening takes as long as a small query. */
export function openWarehouseClient(access: WarehouseAccess): WarehouseClient {
  let reader: Reader | null = null
  let opening: Promise<Reader> | null = null
  let held = false
  return {
    query(query) {
      const locally = async () => {
        opening ??= openLocally(access)
        reader = await opening.catch(error => {
          opening = null
          throw error
        })
        held = false
        return runQuery({ ...query, connection: reader.connection })
      }
      const byHolder = async () => {
        const result = await queryHolder({ ...query, home: access.home })
        held = true
        return result
      }
      return locallyOrByHolder(locally, byHolder, query.signal)
    },
    isHeld: () => held,
    close() {
      reader?.close()
      reader = opening = null
    },
  }
}

/**
 * Runs one SELECT. The caller must close the result.
 * @throws WAREHOUSE_MISSING, WAREHOUSE_LOCKED, TOO_MANY_QUERIES, SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED
 */
export async function queryWarehouse(access: WarehouseAccess, query: ClientQuery): Promise<QueryResult> {
  const client = openWarehouseClient(access)
  try {
    const result = await client.query(query)
    return { ...result, close: () => result.close().finally(client.close) }
  } catch (error) {
    client.close()
    throw error
  }
}

/** Writes the result of one SELECT to a Parquet file. @throws as `queryWarehouse`, and HOME_UNUSABLE */
export function queryWarehouseToParquet(
  access: WarehouseAccess,
  query: Omit<ClientQuery, 'maxRows'> & { file: string },
): Promise<ParquetFile> {
  const locally = async () => {
    const reader = await openLocally(access, query.file)
    return copyToParquet({ ...query, connection: reader.connection }).finally(() => reader.close())
  }
  return locallyOrByHolder(locally, () => queryHolderToParquet({ ...query, home: access.home }), query.signal)
}
