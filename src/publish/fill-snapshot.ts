// All rows of a refill of a target `snapshot`, which the process that holds the warehouse writes into the next file itself. Through Parquet
// files that another process reads again, a refill takes twice the processor time.
import { rm } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { SnapshotTarget } from '../config/targets.ts'
import { destinationOf } from '../files/destination.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { ATTACHED, attachedTable, createTable } from './attached.ts'
import { attachNext, DISK_HINT, nextFile } from './next-snapshot.ts'
import { quotedTable, valuesAs } from './package-rows.ts'
import { MOST_READERS, type Reader, type Readers } from './readers.ts'
import type { SelectedRelation, Selection } from './selection.ts'
import { targetError } from './target-database.ts'

interface Filling {
  warehouse: Warehouse
  /** The first writes all tables. */
  readers: Readers
  signal: AbortSignal
}

/**
 * SQL of the rows of a table, to be read by two threads at most, each of which holds a row group while it writes: 120 MB of conversations. Rows are numbered
 * in two streams, since DuckDB numbers each with one thread: its setting of threads cannot be lowered while a query runs without waiting for it.
 */
function inTwoStreams(table: string, last: number): string {
  const middle = Math.floor(last / 2)
  const stream = (range: string) =>
    `SELECT * FROM (SELECT *, row_number() OVER () AS number_in_stream FROM ${table} WHERE rowid ${range}) WHERE number_in_stream > 0`
  return `(${stream(`<= ${middle}`)} UNION ALL ${stream(`> ${middle}`)})`
}

async function rowsOf({ rows }: Reader, table: string, most: number): Promise<string> {
  const [found] = await rows<{ threads: number; last: string | null }>(
    `SELECT current_setting('threads')::INTEGER AS threads, max(rowid)::VARCHAR AS last FROM ${table}`,
  )
  const { threads, last } = found!
  return threads <= most || last === null ? table : inTwoStreams(table, Number(last))
}

/** @returns the number of rows */
async function insertAll(reader: Reader, relation: SelectedRelation): Promise<number> {
  const { name, columns, values, where } = relation
  const names = columns.map(column => column.name)
  const rows = await rowsOf(reader, quotedTable(name), MOST_READERS)
  const [inserted] = await reader.rows<{ Count: string }>(
    `INSERT INTO ${attachedTable(relation)} SELECT ${valuesAs(values, names)} FROM ${rows} t WHERE ${where ?? 'true'}`,
  )
  return Number(inserted!.Count)
}

/** Commits the transaction in which `reader` reads the warehouse. Tables that a check blocks stay empty. */
async function writeAll({ readers: [reader], signal }: Filling, { relations, blocked }: Selection): Promise<number> {
  let rowCount = 0
  for (const schema of ['marts', 'models']) await reader.run(`CREATE SCHEMA ${ATTACHED}.${schema}`)
  for (const relation of relations) {
    signal.throwIfAborted()
    await createTable(reader, relation)
    // An interrupt between two statements is lost.
    signal.throwIfAborted()
    if (!blocked.includes(relation.published.table)) rowCount += await insertAll(reader, relation)
  }
  await reader.run('COMMIT')
  return rowCount
}

async function intoNext<T>(connection: DuckDBConnection, attach: string, work: () => Promise<T>): Promise<T> {
  // A publication that could not detach its file would hold up all later ones.
  await connection.run(`DETACH DATABASE IF EXISTS ${ATTACHED}`)
  await connection.run(attach)
  let result: T
  try {
    result = await work()
  } catch (error) {
    await connection.run(`DETACH ${ATTACHED}`).catch(() => {})
    throw error
  }
  // Writes what the log has into the file.
  await connection.run(`DETACH ${ATTACHED}`)
  return result
}

/** Errors of DuckDB that name the file, or the detaching of its database. */
const isOfFile = (cause: unknown, file: string): boolean => {
  const message = String((cause as Error | undefined)?.message ?? cause)
  return message.includes(file) || message.includes(`'${ATTACHED}'`)
}

/**
 * Creates the next file with all rows of `selection`, and without a watermark. If it fails, no file is left.
 * @throws TARGET_UNUSABLE if the file cannot be written
 */
export async function fillSnapshot(
  filling: Filling,
  selection: Selection,
  { target, publicationId }: { target: SnapshotTarget; publicationId: string },
): Promise<{ tables: number; rowCount: number }> {
  const { warehouse, readers, signal } = filling
  const path = await destinationOf(target.path)
  const file = nextFile(path, publicationId)
  const connection = await warehouse.instance.connect()
  try {
    const rowCount = await intoNext(connection, attachNext({ ...target, path }, publicationId), async () => {
      try {
        return await writeAll(filling, selection)
      } catch (error) {
        // A database cannot be detached while a transaction writes it.
        await readers[0].run('ROLLBACK').catch(() => {})
        throw error
      }
    })
    signal.throwIfAborted()
    return { tables: selection.relations.length, rowCount }
  } catch (cause) {
    for (const left of [file, `${file}.wal`]) await rm(left, { force: true }).catch(() => {})
    throw isOfFile(cause, file) ? targetError(path, cause, DISK_HINT) : cause
  } finally {
    connection.closeSync()
  }
}
