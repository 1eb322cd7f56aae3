// Checks, runs and streams a caller's SELECT.

import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from '@duckdb/node-api'
import { ConvohouseError } from '../../core/errors.ts'
import { queryStatement } from '../statements/held.ts'
import { type ParamValues, type Prepared, prepareCast } from './casts.ts'
import { batchesOf, rawBatchOf, shapeOf, typeName } from './duckdb-values.ts'
import { type GuardRules, guard } from './guard/guard.ts'
import { paramValues } from './params.ts'
import type { Column, QueryResult, Tally } from './results.ts'
import { openSession, type QueryLimits, type QuerySession } from './session.ts'

export interface QueryRequest extends QueryLimits {
  /** Only this query may use it until the result is closed. */
  connection: DuckDBConnection
  sql: string
  /** Upper bound of the rows; `tally().truncated` shows whether there were more. */
  maxRows?: number
  /** Values of the SQL's parameters, by position or by name. */
  params?: unknown
  rules?: GuardRules
}

/**
 * Runs one guarded SELECT in a read-only transaction and streams its result: at most one chunk (2,048 rows) is in memory.
 * Read `batches` to the end or call `close()`; otherwise the timeout ends the query.
 *
 * @throws SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED
 */
export async function runQuery(request: QueryRequest): Promise<QueryResult> {
  const { connection, sql, timeoutMs } = request
  const session = await openSession(connection, { statement: queryStatement(sql, timeoutMs), ...request })
  try {
    return await queryIn(session, request)
  } catch (error) {
    await session.closeSoon()
    throw error
  }
}

/** Runs `runQuery` in a session that the caller opened and will close. */
export async function queryIn(
  session: QuerySession,
  request: Pick<QueryRequest, 'connection' | 'sql' | 'maxRows' | 'params' | 'rules'>,
): Promise<QueryResult> {
  const { connection, sql, maxRows = Number.POSITIVE_INFINITY } = request
  const values = paramValues(request.params)
  const guarded = await session.step(() =>
    guard(connection, sql, { ...request.rules, hasParams: values !== undefined }),
  )
  const prepared = await session.step(() => prepareCast(connection, guarded, { values }))
  const { statement, cast } = prepared
  const run = () => (cast === null ? statement.stream() : connection.stream(cast, values))
  const answer = await session.step(run)
  return resultOf({ answer, ...prepared, session, connection, guarded, values, maxRows })
}

interface Streaming extends Pick<Prepared, 'columns' | 'cast'> {
  answer: DuckDBResult
  session: QuerySession
  connection: DuckDBConnection
  guarded: string
  values: ParamValues | undefined
  maxRows: number
}

function resultOf(streaming: Streaming): QueryResult {
  const columns = columnsOf(streaming)
  const tally: Tally = { rows: 0, truncated: false }
  return {
    columns,
    batches: stream({ ...streaming, tally }, (chunk, rows) => batchesOf(chunk, columns, rows)),
    rawBatches: () => stream({ ...streaming, tally }, (chunk, rows) => [rawBatchOf(chunk, columns, rows)]),
    tally: () => ({ ...tally }),
    close: () => streaming.session.closeSoon(),
  }
}

/** Returns the names, the shapes, and the types before the cast. */
function columnsOf({ answer, columns }: Streaming): Column[] {
  return answer.columnNames().map((name, at) => ({
    ...{ name, type: typeName(columns[at]!.type), shape: shapeOf(answer.columnType(at)) },
  }))
}

async function* stream<T extends { rows: number }>(
  query: Omit<Streaming, 'columns'> & { tally: Tally },
  read: (chunk: DuckDBDataChunk, rows: number) => Iterable<T>,
): AsyncGenerator<T> {
  const { answer, session, maxRows, tally } = query
  try {
    for (;;) {
      const chunk = await session.step(() => answer.fetchChunk())
      if (!chunk || chunk.rowCount === 0) return await assertComplete(query)
      const rows = Math.min(chunk.rowCount, maxRows - tally.rows)
      for (const batch of read(chunk, rows)) {
        // Runs in the session, so that a timeout is noticed, and yields to the event loop between batches.
        await session.step(() => nextTurn())
        tally.rows += batch.rows
        yield batch
      }
      tally.truncated = rows < chunk.rowCount
      if (tally.truncated) return
    }
  } finally {
    await session.closeSoon()
  }
}

const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve))

/**
 * Verifies that a stream ended because there are no more rows. DuckDB's C API, and so the Node client, ends a failed stream
 * like a complete one: the next chunk is empty, and the error is lost (seen with 1.5.6: a bad cast in the last tenth of
 * 3,000,000 rows gave 2,648,064 rows and no error). But a failure aborts the transaction, which distinguishes the two.
 *
 * @throws SQL_INVALID with DuckDB's message if it failed
 */
async function assertComplete({
  session,
  connection,
  ...statement
}: Pick<Streaming, 'session' | 'connection' | 'guarded' | 'cast' | 'values'>): Promise<void> {
  const alive = await session.step(() =>
    connection.run('SELECT 1').then(
      () => true,
      () => false,
    ),
  )
  if (alive) return
  throw await session.step(() => findReason(connection, statement)).catch(error => error)
}

/** Runs the query again and discards its rows, to get the message that the stream lost. */
async function findReason(
  connection: DuckDBConnection,
  { guarded, cast, values }: Pick<Streaming, 'guarded' | 'cast' | 'values'>,
): Promise<ConvohouseError> {
  await connection.run('ROLLBACK')
  await connection.run('BEGIN TRANSACTION READ ONLY')
  await connection.run(`EXPLAIN ANALYZE ${cast ?? guarded}`, values)
  return new ConvohouseError('SQL_INVALID', {
    what: 'The query failed after some of its rows, and DuckDB does not say why.',
    hint: 'Try again.',
  })
}
