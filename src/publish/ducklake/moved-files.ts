// The files of a package that become those of a lake as they are. Only where the lake's data are in a folder: DuckDB itself writes objects to
// S3, in parts.
import { randomUUID } from 'node:crypto'
import { quoteText } from '../../catalog/layout.ts'
import type { TargetConfig } from '../../config/targets.ts'
import { ATTACHED } from '../attached.ts'
import type { PackagedTable } from '../package.ts'
import type { Lake } from './lake.ts'

/** Whether the target takes the files of a package. */
export const movesFiles = (target: TargetConfig): boolean => target.type === 'ducklake' && target.s3 === null

/**
 * Moves the files of a table into the lake, and adds them to the table. Columns that they lack, such as those of earlier versions, are NULL.
 * Their names there, relative to the place of data, are added to `moved`.
 */
export async function addFiles(
  { database, data, target }: Lake,
  { name, rows }: PackagedTable,
  moved: string[],
): Promise<void> {
  const [table, schema = 'main'] = name.split('.').reverse() as [string, string?]
  for (const file of rows) {
    const place = `${schema}/${table}/ducklake-${randomUUID()}.parquet`
    moved.push(place)
    await data.move!(file, place)
    const path = `${target.data}/${place}`
    await database.run(
      `CALL ducklake_add_data_files('${ATTACHED}', ${quoteText(table)}, ${quoteText(path)}, schema => ${quoteText(schema)}, allow_missing => true)`,
    )
  }
}
