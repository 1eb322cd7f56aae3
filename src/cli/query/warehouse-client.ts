// Asking the warehouse, whoever holds it: opened for reading here where nobody does, else by its holder's socket.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../clock.ts'
import { isCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import type { ResultLayout } from '../../warehouse/query/casts.ts'
import { queryHolder, queryHolderToParquet } from '../../warehouse/query/http/holder-client.ts'
import { copyToParquet, type ParquetFile } from '../../warehouse/query/parquet.ts'
import { runQuery } from '../../warehouse/query/query.ts'
import { openReader, type Reader } from '../../warehouse/query/reader.ts'
import type { QueryResult } from '../../warehouse/query/results.ts'
import type { Storage } from './storage.ts'

export interface WarehouseQuery {
  storage: Storage
  sql: string
  timeoutMs: number
  signal?: AbortSignal
  /** By default one who reads rows. */
  layout?: ResultLayout
}

/** A holder that has just begun does not answer yet, and one that is ending answers no more. */
const PATIENCE_MS = 3 * SECOND
const TRY_EVERY_MS = 100

/** Asks one who holds the file, else reads it; again for a moment where it changes hands in between. */
async function eitherWay<T>(here: () => Promise<T>, holder: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const untilMs = systemClock.now() + PATIENCE_MS
  for (;;) {
    try {
      return await here()
    } catch (error) {
      if (!isCode(error, 'WAREHOUSE_LOCKED')) throw error
    }
    try {
      return await holder()
    } catch (error) {
      if (!isCode(error, 'WAREHOUSE_LOCKED') || systemClock.now() > untilMs || signal?.aborted) throw error
      await sleep(TRY_EVERY_MS)
    }
  }
}

const readerOf = ({ home, memoryLimit, threads }: Storage, parquetFile?: string): Promise<Reader> =>
  openReader({ file: warehouseFile(home), memoryLimit, threads, ...(parquetFile && { parquetFile }) })

export interface WarehouseClient {
  /** Runs one SELECT; the result is to be closed before the next one is asked. @throws as `askWarehouse` */
  query(question: Omit<WarehouseQuery, 'storage'> & { maxRows?: number }): Promise<QueryResult>
  /** True where another process answered the last question: it holds the warehouse. */
  isHeld(): boolean
  close(): void
}

/** Asks several questions, one after the other: opening the warehouse takes as long as a small question. */
export function openWarehouseClient(storage: Storage): WarehouseClient {
  let kept: Reader | null = null
  let held = false
  const close = () => {
    kept?.close()
    kept = null
  }
  return {
    query(question) {
      const here = async () => {
        kept ??= await readerOf(storage)
        held = false
        return runQuery({ ...question, connection: kept.connection })
      }
      const holder = async () => {
        const answer = await queryHolder({ ...question, home: storage.home })
        held = true
        return answer
      }
      return eitherWay(here, holder, question.signal)
    },
    isHeld: () => held,
    close,
  }
}

/**
 * Runs one SELECT; the result is to be closed.
 * @throws WAREHOUSE_MISSING, WAREHOUSE_LOCKED, SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED
 */
export async function queryWarehouse({
  storage,
  ...question
}: WarehouseQuery & { maxRows?: number }): Promise<QueryResult> {
  const asker = openWarehouseClient(storage)
  try {
    const result = await asker.query(question)
    return { ...result, close: () => result.close().finally(asker.close) }
  } catch (error) {
    asker.close()
    throw error
  }
}

/** Writes what one SELECT answers to a Parquet file. @throws as `askWarehouse`, and HOME_UNUSABLE */
export function queryWarehouseToParquet(question: WarehouseQuery & { file: string }): Promise<ParquetFile> {
  const { storage, signal, file } = question
  const here = async () => {
    const reader = await readerOf(storage, file)
    return copyToParquet({ ...question, connection: reader.connection }).finally(() => reader.close())
  }
  return eitherWay(here, () => queryHolderToParquet({ ...question, home: storage.home }), signal)
}
