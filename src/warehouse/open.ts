// Opens the warehouse file for writing, once per process. DuckDB's file lock excludes other processes.
//
// The lock does not keep this process from opening the file a second time: the second instance would lose committed
// rows, and closing it would release the lock. So only this module opens the file for writing.
//
// The file is attached to an empty instance, because only an attachment can set the size of row groups. With the
// default of 122,880 rows, a load of a few thousand rows goes to the log first, and the checkpoint writes it again on
// one thread. With smaller groups a load is compressed once, in parallel, directly into the file: twenty thousand
// conversations with their child rows took 1.7 s instead of 3.5 s, in files of the same size.
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { quoteText } from '../catalog/layout.ts'
import { homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { sizeOf } from '../core/words.ts'
import { type Connectable, openWriter, type Writer } from './connection.ts'
import { isLocked, isStub, openingError, removeStub } from './fault.ts'
import { MACROS } from './macros.ts'
import { createTables } from './maintenance/create-tables.ts'
import { createSpillParent, removeStaleSpills, spillFolder } from './temporary-files.ts'
import { warehouseFile } from './warehouse-file.ts'

export interface Warehouse {
  file: string
  /** Opens further connections, for reading. */
  instance: Connectable
  writer: Writer
  /** Checkpoints and closes. The lock is free once it resolves. */
  close(): Promise<void>
}

export interface WarehouseOptions {
  home: string
  /** Name of another file in the data folder, for a warehouse that is being rebuilt. */
  name?: string
  /** Commits write directly to the file instead of to the log first, for large loads whose rows nobody reads until the end. */
  bulk?: boolean
  /** Syntax as in DuckDB: `1GB`. */
  memoryLimit: string
  threads: number
}

const MISSING_HINT = 'Run `convohouse sync` first, or set the right data folder (`home`, CONVOHOUSE_HOME).'

/** @throws WAREHOUSE_MISSING */
export function expectFile(file: string, hint = MISSING_HINT): void {
  if (!existsSync(file))
    throw new ConvohouseError('WAREHOUSE_MISSING', { what: `There is no warehouse at ${file}.`, hint })
}

/** Checks that there is a warehouse, for commands that must not create one. @throws WAREHOUSE_MISSING */
export const expectWarehouse = (home: string, hint?: string): void => expectFile(warehouseFile(home), hint)

/**
 * DuckDB keeps some 256 KB in memory for each row group that has lost a row, regardless of its size. Replacing
 * scattered rows among a million conversations took 281 MB with groups of 10,240 rows, and a load of fifty pages no
 * longer fitted into 448 MB; with groups of this size it took 161 MB.
 */
export const ROW_GROUP_ROWS = 30_720

/**
 * DuckDB assigns one thread to each 122,880 rows of a scan. A batch has a few thousand rows of seven kilobytes, so one
 * thread would do all the work. With this pragma all threads share it (20,000 records: 0.4 s instead of 0.8 for the
 * conversations, 0.6 instead of 1.1 for their children).
 */
const SCAN_ON_ALL_THREADS = 'PRAGMA verify_parallelism'

/**
 * DuckDB compares each row with each row if it expects fewer rows than this on the left of an ASOF join, and its estimates are too
 * low. The waits of twenty thousand conversations took 33 s of CPU for business hours; with 0, which always sorts, they take 1 s.
 */
const SORTED_ASOF_JOINS = 'SET asof_loop_join_threshold = 0'

/** The first storage version with zstd, which earlier versions of DuckDB cannot open. It applies to new files. */
const STORAGE_VERSION = 'v1.2.0'

/**
 * FSST makes the file a fifth smaller, but took more than half of the write time. Zstd compresses long texts, such as
 * transcripts and JSON.
 */
export const COMPRESSION = [`SET disabled_compression_methods = 'fsst,dict_fsst'`, 'SET zstd_min_string_length = 64']

/** Attaches the file as `warehouse`, and creates it if it is missing. @throws WAREHOUSE_LOCKED, HOME_UNUSABLE */
async function attach(connection: DuckDBConnection, file: string): Promise<void> {
  const attempt = () =>
    connection.run(
      `ATTACH ${quoteText(file)} AS warehouse (ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, STORAGE_VERSION '${STORAGE_VERSION}')`,
    )
  try {
    await attempt()
  } catch (cause) {
    // A process that is still creating the file holds its lock.
    if (isLocked(cause) || !(await isStub(file).catch(() => false))) throw openingError(file, cause)
    if (await removeStub(file).catch(() => false)) await rm(`${file}.wal`, { force: true })
    await attempt().catch(async second => {
      // DuckDB notices only when it reads them again that a full disk cut off its headers.
      throw (await isStub(file).catch(() => false))
        ? homeUnusable(file, { code: 'ENOSPC', cause: second })
        : openingError(file, second)
    })
  }
}

async function attachTo(instance: DuckDBInstance, file: string): Promise<void> {
  const connection = await instance.connect()
  try {
    await attach(connection, file)
    await connection.run(COMPRESSION.join(';'))
  } finally {
    connection.closeSync()
  }
}

async function connectTo(instance: DuckDBInstance): Promise<DuckDBConnection> {
  const connection = await instance.connect()
  await connection.run(`USE warehouse; SET TimeZone = 'UTC'`)
  return connection
}

async function writingConnection(instance: DuckDBInstance): Promise<DuckDBConnection> {
  const connection = await connectTo(instance)
  await connection.run([SCAN_ON_ALL_THREADS, SORTED_ASOF_JOINS, ...MACROS].join(';'))
  return connection
}

/** Rows of a million conversations and their children. Up to this number the configured memory limit suffices. */
const COVERED_ROWS = 20_000_000

/** 161 MB for the row groups of a million conversations; DuckDB 1.5.5 neither spills them nor frees them at a checkpoint. */
const BYTES_PER_ROW = 9

/** Returns the memory limit, in bytes, of a warehouse with `rows` rows in all tables. */
const limitOf = (configured: string, rows: number): number =>
  Math.round(sizeOf(configured) + BYTES_PER_ROW * Math.max(0, rows - COVERED_ROWS))

/** Raises the memory limit of a large warehouse, whose row groups would otherwise leave no memory for loading. */
async function fitMemoryLimit(writer: Writer, configured: string): Promise<void> {
  const [held] = await writer.rows<{ rows: string }>(
    `SELECT coalesce(sum(estimated_size), 0)::BIGINT::VARCHAR AS rows FROM duckdb_tables() WHERE database_name = 'warehouse'`,
  )
  const rows = Number(held!.rows)
  if (rows > COVERED_ROWS) await writer.run(`SET memory_limit = '${limitOf(configured, rows)}B'`)
}

/** Lets the instance close without a checkpoint, which would write a killed process's log into a file that was refused. */
async function keepLog(instance: DuckDBInstance): Promise<void> {
  const connection = await instance.connect()
  await connection.run('PRAGMA disable_checkpoint_on_shutdown')
  connection.closeSync()
}

/**
 * Opens the warehouse, and creates its missing parts.
 * @throws WAREHOUSE_LOCKED, WAREHOUSE_LAYOUT, HOME_UNUSABLE
 */
export async function openWarehouse(options: WarehouseOptions): Promise<Warehouse> {
  const file = warehouseFile(options.home, options.name)
  await createSpillParent(file)
  const spill = spillFolder(file)
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: options.memoryLimit,
    threads: String(options.threads),
    temp_directory: spill,
    // Commits took 15 ms per page with the default of 16 MB, and 3.4 ms with this.
    checkpoint_threshold: options.bulk ? '1MB' : '256MB',
    // Twice as fast; tables have no defined row order.
    preserve_insertion_order: 'false',
    // A caller's SQL must not make the process download or load code.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  try {
    await attachTo(instance, file)
    await removeStaleSpills(file, spill)
    const connection = await writingConnection(instance)
    const writer = openWriter(connection, file)
    await createTables(writer, file)
    await fitMemoryLimit(writer, options.memoryLimit)
    return {
      file,
      instance: { connect: () => connectTo(instance) },
      writer,
      async close() {
        // Data that cannot be checkpointed stays in the log.
        await writer.exclusively(() => writer.run('CHECKPOINT warehouse')).catch(() => {})
        connection.closeSync()
        instance.closeSync()
      },
    }
  } catch (error) {
    await keepLog(instance)
    instance.closeSync()
    throw error
  }
}
