// A caller's SELECT, streamed.

import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api'
import { type Prepared, prepareCast, type ResultLayout } from './casts.ts'
import { type Guarded, guard } from './guard/guard.ts'
import { batchesOf } from './result-cells.ts'
import { shapeOf, typeName } from './result-types.ts'
import type { Batch, Column, QueryResult, Tally } from './results.ts'
import { openSession, type QueryLimits, type QuerySession } from './session.ts'
import { assertComplete, withoutFirstLine } from './stream-failure.ts'

export interface QueryRequest extends QueryLimits {
  /** Used by nothing else until the result is closed. */
  connection: DuckDBConnection
  sql: string
  /** Rows given out at most; `tally().truncated` tells whether there were more. */
  maxRows?: number
  /** Who takes the answer; by default one who reads rows. */
  taker?: ResultLayout
}

/**
 * Runs one guarded SELECT or EXPLAIN in a read-only transaction, and streams what it answers: no more than one chunk
 * (2,048 rows) is in memory at a time. Read `batches` to their end or call `close()`; the timeout does it otherwise.
 *
 * @throws SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED
 */
export async function runQuery(request: QueryRequest): Promise<QueryResult> {
  const session = await openSession(request.connection, request)
  try {
    return await queryIn(session, request)
  } catch (error) {
    await session.closeSoon()
    throw error
  }
}

/** `runQuery` in a session that its owner opened and closes. */
export async function queryIn(
  session: QuerySession,
  request: Pick<QueryRequest, 'connection' | 'sql' | 'maxRows' | 'taker'>,
): Promise<QueryResult> {
  const { connection, sql, maxRows = Number.POSITIVE_INFINITY, taker = 'rows' } = request
  const guarded = await session.step(() => guard(connection, sql))
  const prepared = await session.step(() => prepareCast(taker, connection, guarded))
  const { statement, cast } = prepared
  const run = () => (cast === null ? statement.stream() : connection.stream(cast).catch(withoutFirstLine))
  const answer = await session.step(run)
  return resultOf({ answer, ...prepared, session, connection, guarded, maxRows })
}

interface Streaming extends Pick<Prepared, 'columns' | 'cast'> {
  answer: DuckDBResult
  session: QuerySession
  connection: DuckDBConnection
  guarded: Guarded
  maxRows: number
}

function resultOf(streaming: Streaming): QueryResult {
  const columns = columnsOf(streaming)
  const tally: Tally = { rows: 0, truncated: false }
  return {
    columns,
    batches: stream({ ...streaming, columns, tally }),
    tally: () => ({ ...tally }),
    close: () => streaming.session.closeSoon(),
  }
}

async function* stream(query: Omit<Streaming, 'columns'> & { columns: Column[]; tally: Tally }): AsyncGenerator<Batch> {
  const { answer, session, maxRows, columns, tally } = query
  try {
    for (;;) {
      const chunk = await session.step(() => answer.fetchChunk())
      if (!chunk || chunk.rowCount === 0) return await assertComplete(query)
      for (const batch of batchesOf(chunk, columns)) {
        // Through the session, so that a timeout is noticed and the event loop gets its turn between batches.
        await session.step(() => nextTurn())
        const cut = cutTo(batch, maxRows - tally.rows)
        tally.rows += cut.rows
        tally.truncated = cut.rows < batch.rows
        if (cut.rows > 0) yield cut
        if (tally.truncated) return
      }
    }
  } finally {
    await session.closeSoon()
  }
}

function cutTo(batch: Batch, rows: number): Batch {
  return batch.rows <= rows ? batch : { rows, columns: batch.columns.map(cells => cells.slice(0, rows)) }
}

const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve))

/** Types are told as they were before they were cast. */
function columnsOf({ answer, columns }: Streaming): Column[] {
  return answer.columnNames().map((name, at) => {
    const { type, stored } = columns[at]!
    const shape = shapeOf(answer.columnType(at))
    return {
      name,
      type: typeName(type),
      shape: stored && shape.kind === 'timestamp' ? { ...shape, zone: true } : shape,
    }
  })
}
