// All rows of a refill of a target `snapshot`, which the process that holds the warehouse writes into the next file itself. Through Parquet
// files that another process reads again, a refill takes twice the processor time.
import { rm } from 'node:fs/promises'
import type { SnapshotTarget } from '../config/targets.ts'
import { destinationOf } from '../files/destination.ts'
import { messageOf } from '../warehouse/fault.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { ATTACHED, attachedTable, createTable } from './attached.ts'
import { attachNext, DISK_HINT, nextFile } from './next-snapshot.ts'
import { lastRow, quotedTable, valuesAs } from './package-rows.ts'
import type { Reader } from './readers.ts'
import type { SelectedRelation, Selection } from './selection.ts'
import { targetError } from './target-database.ts'

interface Filling {
  warehouse: Warehouse
  /** Its transaction, in which it reads the warehouse, is committed. */
  reader: Reader
  signal: AbortSignal
}

/** Each thread that writes holds a row group: of conversations, 120 MB. */
const MOST_THREADS = 2

/**
 * SQL of the rows of a table, to be read by two threads. They are numbered in two streams, since DuckDB numbers each with one thread: its setting
 * of threads cannot be lowered while a query runs without waiting for it.
 */
async function inTwoStreams(reader: Reader, name: string): Promise<string> {
  const middle = Math.floor((await lastRow(reader, name)) / MOST_THREADS)
  const stream = (range: string) =>
    `SELECT * FROM (SELECT *, row_number() OVER () AS number_in_stream FROM ${quotedTable(name)} WHERE rowid ${range}) WHERE number_in_stream > 0`
  return `(${stream(`<= ${middle}`)} UNION ALL ${stream(`> ${middle}`)})`
}

/** `from`: SQL of the rows of the table. @returns the number of rows */
async function insertAll(reader: Reader, relation: SelectedRelation, from: string): Promise<number> {
  const { columns, values, where } = relation
  const names = columns.map(column => column.name)
  const [inserted] = await reader.rows<{ Count: string }>(
    `INSERT INTO ${attachedTable(relation)} SELECT ${valuesAs(values, names)} FROM ${from} t WHERE ${where ?? 'true'}`,
  )
  return Number(inserted!.Count)
}

/** Tables that a check blocks stay empty. @returns the number of rows */
async function writeAll({ reader, signal }: Filling, { relations, blocked }: Selection): Promise<number> {
  const [setting] = await reader.rows<{ threads: number }>(`SELECT current_setting('threads')::INTEGER AS threads`)
  const hasMany = setting!.threads > MOST_THREADS
  let rowCount = 0
  for (const schema of ['marts', 'models']) await reader.run(`CREATE SCHEMA ${ATTACHED}.${schema}`)
  for (const relation of relations) {
    await createTable(reader, relation)
    if (blocked.includes(relation.published.table)) continue
    const from = hasMany ? await inTwoStreams(reader, relation.name) : quotedTable(relation.name)
    // An interrupt between two statements is lost.
    signal.throwIfAborted()
    rowCount += await insertAll(reader, relation, from)
  }
  await reader.run('COMMIT')
  return rowCount
}

/** Errors of DuckDB that name the file, or the detaching of its database. */
const isOfFile = (cause: unknown, file: string): boolean =>
  [file, `'${ATTACHED}'`].some(name => messageOf(cause).includes(name))

/**
 * Creates the next file with all rows of `selection`, and without a watermark. If it fails, no file is left.
 * @throws TARGET_UNUSABLE if the file cannot be written
 */
export async function fillSnapshot(
  filling: Filling,
  selection: Selection,
  { target, publicationId }: { target: SnapshotTarget; publicationId: string },
): Promise<{ tables: number; rowCount: number }> {
  const { warehouse, reader, signal } = filling
  const path = await destinationOf(target.path)
  const file = nextFile(path, publicationId)
  const connection = await warehouse.instance.connect()
  try {
    // A publication that could not detach its file would hold up all later ones.
    await connection.run(`DETACH DATABASE IF EXISTS ${ATTACHED}`)
    await connection.run(attachNext({ ...target, path }, publicationId))
    const rowCount = await writeAll(filling, selection).catch(async error => {
      // A database cannot be detached while a transaction writes it.
      await reader.run('ROLLBACK').catch(() => {})
      await connection.run(`DETACH ${ATTACHED}`).catch(() => {})
      throw error
    })
    // Writes what the log has into the file.
    await connection.run(`DETACH ${ATTACHED}`)
    signal.throwIfAborted()
    return { tables: selection.relations.length, rowCount }
  } catch (cause) {
    for (const left of [file, `${file}.wal`]) await rm(left, { force: true }).catch(() => {})
    throw isOfFile(cause, file) ? targetError(path, cause, DISK_HINT) : cause
  } finally {
    connection.closeSync()
  }
}
