// The warehouse file: opened once in a process, by one process at a time. DuckDB's file lock is the fence.
//
// Two instances on one file in one process would both succeed and lose committed rows, and closing the second would
// drop the lock: so this is the only place that opens it for writing.
//
// The file is attached to an empty instance, because only an attachment may choose the size of row groups. With the
// default of 122,880 rows a load of some thousand goes to the log first and is written again by the checkpoint, on
// one thread; with smaller ones larger loads are compressed once, in parallel, straight into the file. Twenty thousand
// conversations with their children took 3.5 s the one way and 1.7 s the other, in files of the same size.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { ConvohouseError } from '../core/errors.ts'
import { attach } from './attach.ts'
import { type Connectable, openWriter, type Writer } from './connection.ts'
import { MACROS } from './macros.ts'
import { fitMemoryLimit } from './maintenance/memory-limit.ts'
import { migrateWarehouse } from './maintenance/migrate.ts'
import { createSpillParent, removeStaleSpills, spillFolder } from './maintenance/spill.ts'

export interface Warehouse {
  file: string
  /** Makes further connections, for reading. */
  instance: Connectable
  writer: Writer
  /** Checkpoints and closes; the lock is free when it resolves. */
  close(): Promise<void>
}

/**
 * Of each row group that has lost a row DuckDB keeps some 256 KB in memory, however large the group is: replacing here and there
 * beside a million conversations took 281 MB with 10,240 rows, where a load of fifty pages did not fit into 448 MB any
 * more, and 161 MB with these.
 */
const ROW_GROUP_ROWS = 30_720

/**
 * DuckDB gives a thread to each 122,880 rows of a scan. A batch is some thousand rows of seven kilobytes: much work in few
 * rows, which one thread would do alone. With this all share it (20,000 records: 0.4 s instead of 0.8 for the
 * conversations, 0.6 instead of 1.1 for their children).
 */
const SCAN_ON_ALL_THREADS = 'PRAGMA verify_parallelism'

/** FSST makes the file a fifth smaller, and took more than half of the time of writing it. */
const WITHOUT_SLOW_COMPRESSION = `SET disabled_compression_methods = 'fsst,dict_fsst'`

async function connectTo(instance: DuckDBInstance): Promise<DuckDBConnection> {
  const connection = await instance.connect()
  for (const statement of ['USE warehouse', `SET TimeZone = 'UTC'`]) await connection.run(statement)
  return connection
}

export interface WarehouseOptions {
  home: string
  /** Another file of the data folder, for a warehouse that is being rebuilt. */
  name?: string
  /** Commits write the file at once instead of the log first: for large loads that nobody waits for. */
  bulk?: boolean
  /** DuckDB's own syntax: `1GB`. */
  memoryLimit: string
  threads: number
}

export const WAREHOUSE_NAME = 'warehouse.duckdb'

export const warehouseFile = (home: string, name = WAREHOUSE_NAME): string => join(home, name)

/** For commands that must not make a warehouse. @throws WAREHOUSE_MISSING */
export function expectWarehouse(
  home: string,
  hint = 'Run `convohouse sync` first, or name the right data folder (`home`, CONVOHOUSE_HOME).',
): void {
  const file = warehouseFile(home)
  if (!existsSync(file))
    throw new ConvohouseError('WAREHOUSE_MISSING', { what: `There is no warehouse at ${file}.`, hint })
}

/** Attaches the file by a connection of its own. Where it was attached before and a checkpoint failed, no other connection can. */
async function attachTo(instance: DuckDBInstance, file: string): Promise<void> {
  const connection = await instance.connect()
  try {
    await connection.run('DETACH DATABASE IF EXISTS warehouse')
    await attach(connection, file, `ROW_GROUP_SIZE ${ROW_GROUP_ROWS}`)
    await connection.run(WITHOUT_SLOW_COMPRESSION)
  } finally {
    connection.closeSync()
  }
}

/** The connection that writes. */
async function writingConnection(instance: DuckDBInstance): Promise<DuckDBConnection> {
  const connection = await connectTo(instance)
  for (const statement of [SCAN_ON_ALL_THREADS, ...MACROS]) await connection.run(statement)
  return connection
}

/**
 * Opens and migrates the warehouse.
 * @throws WAREHOUSE_LOCKED, WAREHOUSE_NEWER, HOME_UNUSABLE
 */
export async function openWarehouse(options: WarehouseOptions): Promise<Warehouse> {
  const file = warehouseFile(options.home, options.name)
  await createSpillParent(file)
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: options.memoryLimit,
    threads: String(options.threads),
    temp_directory: spillFolder(file),
    // Commits cost 15 ms a page with the default of 16 MB, 3.4 with this.
    checkpoint_threshold: options.bulk ? '1MB' : '256MB',
    // Twice as fast; the rows of a table have no order of their own.
    preserve_insertion_order: 'false',
    autoinstall_known_extensions: 'false',
  })
  try {
    await attachTo(instance, file)
    await removeStaleSpills(file)
    const connect = () => connectTo(instance)
    let connection = await writingConnection(instance)
    const writer = openWriter(connection, file, async spoilt => {
      // Closed within a transaction, it would end the process.
      await spoilt.run('ROLLBACK').catch(() => {})
      spoilt.closeSync()
      await attachTo(instance, file)
      connection = await writingConnection(instance)
      return connection
    })
    await migrateWarehouse(writer)
    await fitMemoryLimit(writer, options.memoryLimit)
    return {
      file,
      instance: { connect },
      writer,
      async close() {
        // What cannot be checkpointed stays in the log.
        await writer.exclusively(() => writer.run('CHECKPOINT warehouse')).catch(() => {})
        connection.closeSync()
        instance.closeSync()
      },
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}
