// Detects failed streams. DuckDB's C API, and so the Node client, ends a failed stream like a complete one: the next chunk is empty, and the
// error is lost (seen with 1.5.6: a bad cast in the last tenth of 3,000,000 rows gave 2,648,064 rows and no error). But a failure aborts the
// transaction, which distinguishes the two.

import type { DuckDBConnection } from '@duckdb/node-api'
import { ConvohouseError } from '../../core/errors.ts'
import type { Guarded } from './guard/guard.ts'
import type { QuerySession } from './session.ts'

interface EndedStream {
  session: QuerySession
  connection: DuckDBConnection
  guarded: Guarded
  /** The SQL that ran instead of the caller's; null when the caller's ran. */
  cast: string | null
}

/**
 * Verifies that a stream ended because there are no more rows.
 *
 * @throws SQL_INVALID with DuckDB's message when it failed
 */
export async function assertComplete({ session, connection, guarded, cast }: EndedStream): Promise<void> {
  const alive = await session.step(() => connection.run('SELECT 1').then(yes, no))
  if (alive) return
  throw await session.step(() => findReason(connection, guarded, cast)).catch(error => error)
}

const yes = () => true
const no = () => false

/** Runs the query again and discards its rows, to get the message that the stream lost. */
async function findReason(
  connection: DuckDBConnection,
  guarded: Guarded,
  cast: string | null,
): Promise<ConvohouseError> {
  await connection.run('ROLLBACK')
  await connection.run('BEGIN TRANSACTION READ ONLY')
  if (guarded.kind === 'select') {
    await connection.run(`EXPLAIN ANALYZE ${cast ?? guarded.sql}`)
  }
  return new ConvohouseError('SQL_INVALID', {
    what: 'The query failed after some of its rows, and DuckDB does not say why.',
    hint: 'Try again.',
  })
}
