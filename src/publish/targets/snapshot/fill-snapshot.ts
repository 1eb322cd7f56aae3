// Writes all rows of a refill of a target `snapshot` into its next file, in the process that holds the warehouse. A
// detour through Parquet files and a second process takes twice the processor time.

import { rm } from 'node:fs/promises'
import { quotedTable } from '../../../catalog/layout.ts'
import type { SnapshotTarget } from '../../../config/targets/snapshot.ts'
import { destinationOf } from '../../../files/destination.ts'
import { messageOf } from '../../../warehouse/fault.ts'
import { ATTACHED, attachedTable, createTable } from '../../attached.ts'
import { slicesOfAll, valuesAs } from '../../package-rows.ts'
import type { SelectedRelation, Selection } from '../../selection.ts'
import { targetError } from '../../target-database.ts'
import type { Filling } from '../target-type.ts'
import { attachNext, DISK_HINT, nextFile } from './snapshot.ts'

/** Inserts the rows in slices, since each thread that writes conversations holds 120 MB. @returns their number */
async function insertAll({ reader, signal }: Filling, relation: SelectedRelation): Promise<number> {
  const { name, columns, values, where } = relation
  const names = columns.map(column => column.name)
  let rowCount = 0
  for (const { first, last } of await slicesOfAll(reader, relation)) {
    // DuckDB loses an interrupt between two statements.
    signal.throwIfAborted()
    const [inserted] = await reader.rows<{ Count: string }>(`
      INSERT INTO ${attachedTable(relation)} SELECT ${valuesAs(values, names)} FROM ${quotedTable(name)} t
      WHERE t.rowid BETWEEN ${first} AND ${last} AND ${where ?? 'true'}`)
    rowCount += Number(inserted!.Count)
  }
  return rowCount
}

/** Writes all tables; those that a check blocks stay empty. @returns the number of rows */
async function writeAll(filling: Filling, { relations, blocked }: Selection): Promise<number> {
  const { reader } = filling
  let rowCount = 0
  for (const schema of ['marts', 'models']) await reader.run(`CREATE SCHEMA ${ATTACHED}.${schema}`)
  for (const relation of relations) {
    await createTable(reader, relation)
    if (!blocked.has(relation.published.table)) rowCount += await insertAll(filling, relation)
  }
  await reader.run('COMMIT')
  return rowCount
}

/** True for an error of DuckDB that names the file or detaching its database. */
const isOfFile = (cause: unknown, file: string): boolean =>
  [file, `'${ATTACHED}'`].some(name => messageOf(cause).includes(name))

/**
 * Creates the next file with all rows of `selection`, and without a watermark. If it fails, no file is left.
 * @throws TARGET_UNUSABLE if the file cannot be written
 */
export async function fillSnapshot(
  filling: Filling,
  selection: Selection,
  target: SnapshotTarget,
): Promise<{ tables: number; rowCount: number }> {
  const { warehouse, reader, signal, publicationId } = filling
  const path = await destinationOf(target.path)
  const file = nextFile(path, publicationId)
  const connection = await warehouse.instance.connect()
  try {
    // A publication that could not detach its file would block all later ones.
    await connection.run(`DETACH DATABASE IF EXISTS ${ATTACHED}`)
    await connection.run(attachNext({ ...target, path }, publicationId))
    const rowCount = await writeAll(filling, selection).catch(async error => {
      // A database cannot be detached while a transaction writes it.
      await reader.run('ROLLBACK').catch(() => {})
      await connection.run(`DETACH ${ATTACHED}`).catch(() => {})
      throw error
    })
    // Detaching writes the log into the file.
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
