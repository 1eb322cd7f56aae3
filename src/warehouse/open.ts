// The warehouse file: opened once in a process, by one process at a time. DuckDB's file lock is the fence.
//
// Two instances on one file in one process would both succeed and lose committed rows, and closing the second would
// drop the lock: so this is the only place that opens it for writing.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { ConvohouseError } from '../core/errors.ts'
import { openWriter, type Writer } from './connection.ts'
import { MACROS } from './macros.ts'
import { migrateWarehouse } from './migrate.ts'

export interface Warehouse {
  file: string
  instance: DuckDBInstance
  writer: Writer
  /** Checkpoints and closes; the lock is free when it resolves. */
  close(): Promise<void>
}

export interface WarehouseOptions {
  home: string
  /** Another file of the data folder, for a warehouse that is being rebuilt. */
  name?: string
  /** DuckDB's own syntax: `1GB`. */
  memoryLimit: string
  threads: number
}

export const WAREHOUSE_NAME = 'warehouse.duckdb'

export const warehouseFile = (home: string, name = WAREHOUSE_NAME): string => join(home, name)

function openingError(file: string, cause: unknown): ConvohouseError {
  const message = String((cause as Error)?.message ?? cause)
  const holder = /PID (\d+)/.exec(message)?.[1]
  if (/lock/i.test(message)) {
    return new ConvohouseError('WAREHOUSE_LOCKED', {
      what: `Another process${holder ? ` (PID ${holder})` : ''} holds ${file}.`,
      mend: 'Wait until its sync has ended, or stop it. `convohouse query` and `status` answer meanwhile.',
      cause,
      facts: { pid: holder ? Number(holder) : null },
    })
  }
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `Cannot open ${file}: ${message.split('\n')[0]}`,
    mend: 'Check that the data folder is writable. A damaged warehouse may be deleted: `convohouse replay` rebuilds it from the landing.',
    cause,
  })
}

/**
 * Opens and migrates the warehouse.
 * @throws WAREHOUSE_LOCKED, WAREHOUSE_NEWER, HOME_UNUSABLE
 */
export async function openWarehouse(options: WarehouseOptions): Promise<Warehouse> {
  const file = warehouseFile(options.home, options.name)
  await mkdir(options.home, { recursive: true, mode: 0o700 }).catch(cause => {
    throw openingError(file, cause)
  })
  const instance = await DuckDBInstance.create(file, {
    memory_limit: options.memoryLimit,
    threads: String(options.threads),
    temp_directory: join(options.home, 'tmp', 'duckdb'),
    // Commits cost 15 ms a page with the default of 16 MB, 3.4 with this.
    checkpoint_threshold: '256MB',
    // Twice as fast; the rows of a table have no order of their own.
    preserve_insertion_order: 'false',
    autoinstall_known_extensions: 'false',
  }).catch(cause => {
    throw openingError(file, cause)
  })
  try {
    const connection = await instance.connect()
    for (const statement of [`SET TimeZone = 'UTC'`, ...MACROS]) await connection.run(statement)
    const writer = openWriter(connection)
    await migrateWarehouse(writer)
    return {
      file,
      instance,
      writer,
      close: () =>
        writer.alone(async () => {
          await writer.run('CHECKPOINT').catch(() => {})
          connection.closeSync()
          instance.closeSync()
        }),
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}
