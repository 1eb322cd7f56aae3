// The connections that read the warehouse for a package. Each has a read transaction of its own, and all see the same state.
import { blobValue, type DuckDBConnection } from '@duckdb/node-api'
import { statementsOn, type Writer } from '../warehouse/connection.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { hmacPads, PAD_VARIABLES } from './pii.ts'

export type Reader = Pick<Writer, 'run' | 'rows'>

/** One is the least, and questions that need no other are asked through it. */
export type Readers = readonly [Reader, ...Reader[]]

/** A slice of a package is written by one thread, so that two of them use two cores; more would take memory from loads. */
export const MOST_READERS = 2

/** Runs a statement on each connection: a temporary table belongs to one. @returns the rows of the first */
export async function onEach<T>(readers: Readers, sql: string): Promise<T[]> {
  const [first] = await Promise.all(readers.map(reader => reader.rows<T>(sql)))
  return first!
}

/** A connection with the key of hashes. */
async function connect({ instance }: Warehouse, key: Buffer | null): Promise<DuckDBConnection> {
  const connection = await instance.connect()
  if (key) {
    const pads = hmacPads(key)
    for (const pad of ['inner', 'outer'] as const)
      await connection.run(`SET VARIABLE ${PAD_VARIABLES[pad]} = $pad`, { pad: blobValue(pads[pad]) })
  }
  return connection
}

/** A transaction begins with its first look at the file. */
async function begin(connection: DuckDBConnection): Promise<void> {
  await connection.run('BEGIN')
  await connection.run('SELECT 1 FROM _change_log LIMIT 0')
}

/**
 * Runs `work` in `count` read transactions, which an abort interrupts. They begin while no transaction of the writer can commit, and so see
 * the same state.
 */
export async function reading<T>(
  { warehouse, signal, key, count }: { warehouse: Warehouse; signal: AbortSignal; key: Buffer | null; count: number },
  work: (readers: Readers) => Promise<T>,
): Promise<T> {
  const connections: DuckDBConnection[] = []
  const interrupt = () => {
    for (const connection of connections) connection.interrupt()
  }
  signal.addEventListener('abort', interrupt)
  try {
    signal.throwIfAborted()
    while (connections.length < count) connections.push(await connect(warehouse, key))
    await warehouse.writer.exclusively(async () => {
      for (const connection of connections) await begin(connection)
    })
    signal.throwIfAborted()
    const [first, ...others] = connections.map(statementsOn)
    return await work([first!, ...others])
  } catch (error) {
    // An interrupted statement has an error of its own.
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', interrupt)
    for (const connection of connections) {
      await connection.run('ROLLBACK').catch(() => {})
      connection.closeSync()
    }
  }
}
