// The connection that reads the warehouse for a package, in one read transaction: tables, marts and models are of one state.
import { blobValue, type DuckDBConnection } from '@duckdb/node-api'
import { isCode } from '../core/errors.ts'
import { logRange, type Watermark } from '../warehouse/changes/log-changes.ts'
import { statementsOn, type Writer } from '../warehouse/connection.ts'
import { refreshMarts } from '../warehouse/marts/refresh.ts'
import { inTurn, refreshModelsWithin } from '../warehouse/models/refresh-models.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { hmacPads, PAD_VARIABLES } from './pii.ts'

export type Reader = Pick<Writer, 'run' | 'rows'>

/** Sets the hash key as variables of the connection. */
async function setKey(connection: DuckDBConnection, key: Buffer): Promise<void> {
  const pads = hmacPads(key)
  for (const pad of ['inner', 'outer'] as const)
    await connection.run(`SET VARIABLE ${PAD_VARIABLES[pad]} = $pad`, { pad: blobValue(pads[pad]) })
}

interface Reading {
  warehouse: Warehouse
  signal: AbortSignal
  /** The hash key; null if the target needs none. */
  key: Buffer | null
  /** Folder of the user's models; null if there is none. If undefined, models stay as they are. */
  models: string | null | undefined
  /** The end of the log that the marts, and then the models, were brought to. */
  refreshed: Watermark
}

/** True if the log has entries after the refresh of the marts, besides those of the models. */
async function isBehind(writer: Writer, { epoch, seq }: Watermark): Promise<boolean> {
  if ((await logRange(writer)).epoch !== epoch) return true
  const sql = `SELECT 1 FROM _changes WHERE seq > $seq AND NOT starts_with(table_name, 'models.') LIMIT 1`
  return (await writer.rows(sql, { seq })).length > 0
}

/** Brings marts and models to what was loaded since their refresh. A model that cannot be built keeps its rows. */
async function follow({ warehouse, signal, models: folder, refreshed }: Reading): Promise<void> {
  const { writer } = warehouse
  if (!(await isBehind(writer, refreshed))) return
  await refreshMarts(writer)
  if (folder === undefined) return
  await refreshModelsWithin({ warehouse, folder, signal }).catch(error => {
    if (!isCode(error, 'MODEL_INVALID')) throw error
  })
}

/** Runs `work` in a read transaction, which an abort interrupts. */
export async function reading<T>(of: Reading, work: (reader: Reader) => Promise<T>): Promise<T> {
  const { signal, key } = of
  const { instance, writer } = of.warehouse
  signal.throwIfAborted()
  const connection = await instance.connect()
  const interrupt = () => connection.interrupt()
  signal.addEventListener('abort', interrupt)
  try {
    if (key) await setKey(connection, key)
    const begin = async () => {
      await follow(of)
      await connection.run('BEGIN')
      // A transaction sees the file as it is at its first read.
      await connection.run('SELECT 1 FROM _change_log LIMIT 0')
    }
    await inTurn(writer, () => writer.exclusively(begin))
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
