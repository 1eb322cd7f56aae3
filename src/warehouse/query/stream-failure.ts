// DuckDB's C API, and with it the Node client, ends a stream that fails on the way exactly like one that is complete:
// the next chunk is empty, and the error is not to be had. (Seen with 1.5.6: of 3,000,000 rows with a bad cast in the
// last tenth, 2,648,064 came, and no error.) What does tell them apart is the transaction, which a failure aborts.

import type { DuckDBConnection } from '@duckdb/node-api'
import { ConvohouseError } from '../../core/errors.ts'
import type { Guarded } from './guard/guard.ts'
import type { QuerySession } from './session.ts'

interface Ended {
  session: QuerySession
  connection: DuckDBConnection
  guarded: Guarded
  /** What ran instead of the caller's SQL, if anything. */
  cast: string | null
}

/**
 * Makes sure that a stream which has come to its end did so because there is no more.
 *
 * @throws SQL_INVALID with DuckDB's message where it failed
 */
export async function assertComplete({ session, connection, guarded, cast }: Ended): Promise<void> {
  const alive = await session.step(() => connection.run('SELECT 1').then(yes, no))
  if (alive) return
  throw await session.step(() => findReason(connection, guarded, cast)).catch(error => error)
}

const yes = () => true
const no = () => false

/** Runs the query once more, with its rows thrown away, for the message that the stream has swallowed. */
async function findReason(
  connection: DuckDBConnection,
  guarded: Guarded,
  cast: string | null,
): Promise<ConvohouseError> {
  await connection.run('ROLLBACK')
  await connection.run('BEGIN TRANSACTION READ ONLY')
  if (guarded.kind === 'select') {
    await connection.run(`EXPLAIN ANALYZE ${cast ?? `\n${guarded.sql}`}`).catch(withoutFirstLine)
  }
  return new ConvohouseError('SQL_INVALID', {
    what: 'The query failed after some of its rows, and DuckDB does not say why.',
    hint: 'Ask again.',
  })
}

/** Throws DuckDB's error about SQL of which the caller's first line is the second one; what lies before is none of theirs. */
export function withoutFirstLine(cause: Error): never {
  const message = cause.message
    .replace(/\n*^LINE 1:[^\n]*\n[ ^]*$/m, '')
    .replace(/^LINE (\d+):/m, (_, line: string) => `LINE ${Number(line) - 1}:`)
  throw new Error(message, { cause })
}
