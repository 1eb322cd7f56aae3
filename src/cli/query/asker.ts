// Asking the warehouse, whoever holds it: opened for reading here where nobody does, else by its holder's socket.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../clock.ts'
import { isCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import { runQuery } from '../../warehouse/query.ts'
import { copyToParquet, type ParquetFile } from '../../warehouse/query-parquet.ts'
import { openReader, type Reader } from '../../warehouse/query-reader.ts'
import type { QueryResult } from '../../warehouse/results.ts'
import { askHolder, askHolderForParquet } from '../../warehouse/socket-client.ts'
import type { Storage } from './storage.ts'

export interface Question {
  storage: Storage
  sql: string
  timeoutMs: number
  signal?: AbortSignal
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

/** The result, whose `close` closes the reader as well. */
async function readHere(question: Question & { maxRows?: number }): Promise<QueryResult> {
  const reader = await readerOf(question.storage)
  let open = true
  const release = () => {
    if (open) reader.close()
    open = false
  }
  try {
    const result = await runQuery({ ...question, connection: reader.connection })
    return { ...result, close: () => result.close().finally(release) }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Runs one SELECT; the result is to be closed.
 * @throws WAREHOUSE_MISSING, WAREHOUSE_LOCKED, SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED
 */
export function askWarehouse(question: Question & { maxRows?: number }): Promise<QueryResult> {
  const { storage, signal } = question
  return eitherWay(
    () => readHere(question),
    () => askHolder({ ...question, home: storage.home }),
    signal,
  )
}

/** Writes what one SELECT answers to a Parquet file. @throws as `askWarehouse`, and HOME_UNUSABLE */
export function askForParquet(question: Question & { file: string }): Promise<ParquetFile> {
  const { storage, signal, file } = question
  const here = async () => {
    const reader = await readerOf(storage, file)
    return copyToParquet({ ...question, connection: reader.connection }).finally(() => reader.close())
  }
  return eitherWay(here, () => askHolderForParquet({ ...question, home: storage.home }), signal)
}
