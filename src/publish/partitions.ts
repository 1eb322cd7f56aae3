// Partitions of targets that consist of files: finds the partition of a row, and those that a delta must write again. A file cannot be
// changed, so a partition is always written with all of its rows.
import { quoteText } from '../catalog/layout.ts'
import type { PartitionColumn } from '../config/targets/parquet.ts'
import { pathSegment } from '../files/path-segment.ts'
import { type PublishedTable, partitionOf, sameKeys } from '../warehouse/changes/published-tables.ts'
import { type Changes, changedKeys, earlierPartitions } from '../warehouse/changes/read-changes.ts'
import type { Reader } from './reading.ts'
import type { Relation } from './selection.ts'

/** The folder of rows without a value, as Hive and all readers of its layout call it. */
export const DEFAULT_PARTITION = '__HIVE_DEFAULT_PARTITION__'

/** The temporary table of the partitions that are written: `id`, and the value of each column. */
export const PARTITIONS = 'publish_partitions'

/** SQL of the value of each column. */
export type PartitionValues = Partial<Record<PartitionColumn, string>>

export interface Partition {
  id: number
  /** `month=2026-11`, `agent=a/month=2026-11` */
  folder: string
  values: PartitionValues
}

/**
 * Returns the columns by which a table is partitioned; none: the table is one partition, as is a table with a column of such a name. The agent
 * must be part of the key: else the log does not tell in which agent's partition a row was.
 */
export function partitionColumns(
  { published, columns }: Pick<Relation, 'published' | 'columns'>,
  by: readonly PartitionColumn[],
): readonly PartitionColumn[] {
  const { timeColumn, key } = published
  if (timeColumn === null || columns.some(({ name }) => name === 'month' || name === 'agent')) return []
  return by.filter(column => column === 'month' || key.some(({ name }) => name === 'agent_id'))
}

/** Returns the SQL of a partition column of row `t`, the month being `month`. */
const partitionValue = (column: PartitionColumn, { t, month }: { t: string; month: string }): string =>
  column === 'month' ? month : `nullif(${t}.agent_id, '')`

const partitionValues = (columns: readonly PartitionColumn[], row: { t: string; month: string }): string =>
  columns.map(column => `${partitionValue(column, row)} AS ${column}`).join(', ')

/** Returns an SQL condition: row `t` of a table of records lies in the partition that has these values, of which each is SQL. */
export const isInPartition = (published: PublishedTable, t: string, values: PartitionValues): string =>
  Object.entries(values)
    .map(([column, value]) => {
      const own = partitionValue(column as PartitionColumn, { t, month: partitionOf(published, t) })
      return `${own} IS NOT DISTINCT FROM ${value}`
    })
    .join(' AND ')

/** Returns an SQL condition: row `t` of a table of records lies in the partition `p` of the temporary table. */
export const isInCollected = (published: PublishedTable, t: string, columns: readonly PartitionColumn[]): string =>
  isInPartition(published, t, Object.fromEntries(columns.map(column => [column, `p.${column}`])))

interface Choice {
  published: PublishedTable
  columns: readonly PartitionColumn[]
  /** Condition on the key of row `t`; null: all rows. */
  where: string | null
}

/** Returns the SELECT of the partitions that rows are in now. */
const presentPartitions = ({ published, columns, where }: Choice): string =>
  `SELECT ${partitionValues(columns, { t: 't', month: partitionOf(published, 't') })} FROM ${published.table} t WHERE ${where ?? 'true'}`

/** Returns the SELECT of the partitions that the changed rows were in, and of those that they are in. */
function touchedPartitions({ published, columns, where }: Choice, changes: Changes): string {
  const before = `SELECT ${partitionValues(columns, { t: 't', month: 't.partition_before' })}
    FROM (${earlierPartitions(published, changes)}) t WHERE ${where ?? 'true'}`
  const now = `SELECT ${partitionValues(columns, { t: 't', month: partitionOf(published, 't') })}
    FROM (${changedKeys(published, changes)}) c JOIN ${published.table} t ON ${sameKeys(published, 'c', 't')} WHERE ${where ?? 'true'}`
  return `${before} UNION ALL ${now}`
}

const segmentOf = (column: PartitionColumn, value: string | null): string =>
  `${column}=${value === null ? DEFAULT_PARTITION : pathSegment(value)}`

/** Collects the partitions to write in a temporary table: all of them (`changes` null), or those that changes touch. */
export async function collectPartitions(reader: Reader, choice: Choice, changes: Changes | null): Promise<Partition[]> {
  const { columns } = choice
  const select = changes === null ? presentPartitions(choice) : touchedPartitions(choice, changes)
  await reader.run(
    `CREATE OR REPLACE TEMP TABLE ${PARTITIONS} AS
      SELECT (row_number() OVER ())::INTEGER AS id, * FROM (SELECT DISTINCT * FROM (${select}) ORDER BY ALL)`,
  )
  const texts = columns.map(column =>
    column === 'month' ? `strftime(month, '%Y-%m') AS month, month::VARCHAR AS day` : column,
  )
  const rows = await reader.rows<{ id: number } & Partial<Record<PartitionColumn | 'day', string | null>>>(
    `SELECT id, ${texts.join(', ')} FROM ${PARTITIONS} ORDER BY id`,
  )
  const literal = (value: string | null | undefined) => (value == null ? 'NULL' : quoteText(value))
  return rows.map(row => ({
    id: Number(row.id),
    folder: columns.map(column => segmentOf(column, row[column] ?? null)).join('/'),
    values: Object.fromEntries(
      columns.map(column => [column, column === 'month' ? `${literal(row.day)}::DATE` : literal(row.agent)]),
    ),
  }))
}
