// The connection that reads the warehouse for a package, in one read transaction.
import { blobValue, type DuckDBConnection } from '@duckdb/node-api'
import { statementsOn, type Writer } from '../warehouse/connection.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { hmacPads, PAD_VARIABLES } from './pii.ts'

export type Reader = Pick<Writer, 'run' | 'rows'>

/** Sets the hash key as variables of the connection. */
async function setKey(connection: DuckDBConnection, key: Buffer): Promise<void> {
  const pads = hmacPads(key)
  for (const pad of ['inner', 'outer'] as const)
    await connection.run(`SET VARIABLE ${PAD_VARIABLES[pad]} = $pad`, { pad: blobValue(pads[pad]) })
}

/** Runs `work` in a read transaction, which an abort interrupts. `key` is the hash key; null if the target needs none. */
export async function reading<T>(
  { warehouse, signal, key }: { warehouse: Warehouse; signal: AbortSignal; key: Buffer | null },
  work: (reader: Reader) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const connection = await warehouse.instance.connect()
  const interrupt = () => connection.interrupt()
  signal.addEventListener('abort', interrupt)
  try {
    if (key) await setKey(connection, key)
    await connection.run('BEGIN')
    // A transaction sees the file as it is at its first read.
    await connection.run('SELECT 1 FROM _change_log LIMIT 0')
    signal.throwIfAborted()
    return await work(statementsOn(connection))
  } catch (error) {
    // An interrupted statement fails with its own error.
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', interrupt)
    await connection.run('ROLLBACK').catch(() => {})
    connection.closeSync()
  }
}
