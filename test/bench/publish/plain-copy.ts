// Baseline of a full publication: the same rows in one COPY per table, without packages and processes.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { RECORD_NUMBER } from '../../../src/catalog/ddl.ts'
import { quoteName } from '../../../src/catalog/layout.ts'
import type { TargetConfig } from '../../../src/config/targets.ts'
import { quotedTable, valuesAs } from '../../../src/publish/package-rows.ts'
import { partitionColumns } from '../../../src/publish/partitions.ts'
import { type SelectedRelation, selectionFor } from '../../../src/publish/selection.ts'
import { typeOf } from '../../../src/publish/targets/target-types.ts'
import { partitionOf } from '../../../src/warehouse/changes/published-tables.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { seconds } from '../measure.ts'
import type { Place } from '../place.ts'
import { MEMORY_LIMIT } from './place.ts'

/** Enough memory that COPY is not slowed down by a lack of it. */
const PLENTY = '6GB'

/** Returns the SELECT of a table's published rows, with their month if `isPartitioned`. */
function published(relation: SelectedRelation, isPartitioned: boolean): string {
  const { name, published: of, columns, values } = relation
  const names = columns.map(column => column.name)
  const isChild = name !== of.table
  const month = isPartitioned ? `, strftime(${partitionOf(of, isChild ? 'r' : 't')}, '%Y-%m') AS month` : ''
  const record =
    isPartitioned && isChild
      ? `JOIN ${of.table} r ON r.${quoteName(RECORD_NUMBER.name)} = t.${quoteName(RECORD_NUMBER.name)}`
      : ''
  return `SELECT ${valuesAs(values, names)}${month} FROM ${quotedTable(name)} t ${record}`
}

/** Returns the duration in seconds. */
export async function plainCopy(
  warehouse: Warehouse,
  { home }: Place,
  { target, partitioned }: { target: TargetConfig; partitioned: boolean },
): Promise<number> {
  const folder = join(home, 'copied')
  const { relations } = await selectionFor(warehouse.writer, { target, type: typeOf(target), key: null })
  const connection = await warehouse.instance.connect()
  await connection.run(`SET memory_limit = '${PLENTY}'`)
  await mkdir(folder)
  try {
    return await seconds(async () => {
      for (const relation of relations) {
        const record = relations.find(({ name }) => name === relation.published.table)!
        const isPartitioned = partitioned && partitionColumns(record, ['month']).length > 0
        const options = isPartitioned ? 'ROW_GROUP_SIZE 8192, PARTITION_BY (month)' : 'ROW_GROUP_SIZE 20480'
        await connection.run(
          `COPY (${published(relation, isPartitioned)}) TO '${join(folder, relation.name)}' (FORMAT parquet, COMPRESSION zstd, ${options})`,
        )
      }
    })
  } finally {
    await connection.run(`SET memory_limit = '${MEMORY_LIMIT}'`)
    connection.closeSync()
    await rm(folder, { recursive: true })
  }
}
