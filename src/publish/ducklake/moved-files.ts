// The files of a package that become those of a lake as they are: wide rows would else be written twice.
import { randomUUID } from 'node:crypto'
import { quoteText } from '../../catalog/layout.ts'
import type { LakeTarget } from '../../config/targets.ts'
import { ATTACHED } from '../attached.ts'
import type { PackagedTable } from '../package.ts'
import type { TargetDatabase } from '../target-database.ts'
import { connectedLake, exclusively, type Lake } from './lake.ts'
import { alteredColumns, columnTypes, placeOf, type StoredTables } from './stored-tables.ts'

/**
 * False for tables that DuckLake must write itself, since their owner has partitioned or sorted them, or changed their columns: those that the files
 * lack would count as if they had no NULL.
 */
async function canMove(lake: Lake, { arranged }: StoredTables, table: PackagedTable): Promise<boolean> {
  if (!table.isFinal || !lake.data.take || arranged.has(table.name)) return false
  const types = await columnTypes(lake, table)
  return types.size === table.columns.length && alteredColumns(table, types).length === 0
}

/** What a transaction has moved into the lake. */
export interface MovedFiles {
  /** Relative to the place of the data. */
  names: string[]
  /** Its COMMIT has begun. */
  isCommitting: boolean
}

/** Moves the files of a table into the lake, and adds them to the table. @returns false if the rows have to be inserted */
export async function moveFiles(
  lake: Lake,
  { stored, moved }: { stored: StoredTables; moved: MovedFiles },
  table: PackagedTable,
): Promise<boolean> {
  if (!(await canMove(lake, stored, table))) return false
  const { database, data, target } = lake
  const [schema, name] = placeOf(table.name)
  for (const file of table.rows) {
    const place = `${schema}/${name}/ducklake-${randomUUID()}.parquet`
    moved.names.push(place)
    await data.take!(file, place)
    // Folders above may be named like `agent_id=…`, which would be read as the values of a column.
    await database.run(
      `CALL ducklake_add_data_files('${ATTACHED}', ${quoteText(name)}, ${quoteText(`${target.data}/${place}`)}, schema => ${quoteText(schema)}, hive_partitioning => false)`,
    )
  }
  return true
}

/**
 * Removes files of a transaction that has failed, which DuckLake knows nothing of. A server may still complete a COMMIT whose connection was lost:
 * such files are left to maintenance.
 */
export async function removeUncommitted(
  database: TargetDatabase,
  target: LakeTarget,
  { names, isCommitting }: MovedFiles,
): Promise<void> {
  if (names.length === 0 || (isCommitting && target.catalog.type === 'postgres')) return
  await connectedLake(database, { target, creates: true }, lake =>
    exclusively(lake, async () => {
      const rows = await database.rows<{ path: string }>(`SELECT path FROM ${lake.catalogTable('ducklake_data_file')}`)
      const paths = rows.map(({ path }) => path)
      await lake.data.remove(names.filter(name => !paths.some(path => name.endsWith(path))))
    }),
  )
}
