// Partitions of targets that consist of files. Finds the partition of a row and the partitions that a delta must
// rewrite. Files cannot be changed, so a partition is always written with all of its rows.
import { quoteText } from '../catalog/layout.ts'
import type { PartitionColumn } from '../config/targets/parquet.ts'
import { hiveSegment } from '../files/path-segment.ts'
import { type PublishedTable, partitionOf, sameKeys } from '../warehouse/changes/published-tables.ts'
import { type Changes, changedKeys, earlierPartitions } from '../warehouse/changes/read-changes.ts'
import type { Reader } from './reading.ts'
import type { Relation } from './selection.ts'

/** Folder for rows without a value, named as in Hive and all readers of its layout. */
export const DEFAULT_PARTITION = '__HIVE_DEFAULT_PARTITION__'

/** Temporary table of the partitions to write: `id` and the value of each column. */
export const PARTITIONS = 'publish_partitions'

/** SQL of the value of each column. */
export type PartitionValues = Partial<Record<PartitionColumn, string>>

export interface Partition {
  id: number
  /** Example: `month=2026-11`, `agent=a/month=2026-11`. */
  folder: string
  values: PartitionValues
}

/**
 * Returns the columns that partition a table. No columns mean one partition, as for a table that has a column of that
 * name itself. The agent must be part of the key, since otherwise the log does not show the agent of a former row.
 */
export function partitionColumns(
  { published, columns }: Pick<Relation, 'published' | 'columns'>,
  by: readonly PartitionColumn[],
): readonly PartitionColumn[] {
  const { timeColumn, key } = published
  if (timeColumn === null || columns.some(({ name }) => name === 'month' || name === 'agent')) return []
  return by.filter(column => column === 'month' || key.some(({ name }) => name === 'agent_id'))
}

/** Returns the SQL of a partition column of row `t`; `month` is the SQL of the month. */
const partitionValue = (column: PartitionColumn, { t, month }: { t: string; month: string }): string =>
  column === 'month' ? month : `nullif(${t}.agent_id, '')`

const partitionValues = (columns: readonly PartitionColumn[], row: { t: string; month: string }): string =>
  columns.map(column => `${partitionValue(column, row)} AS ${column}`).join(', ')

/** Returns an SQL condition that row `t` of a record table is in the partition with these values, each given as SQL. */
export const isInPartition = (published: PublishedTable, t: string, values: PartitionValues): string =>
  Object.entries(values)
    .map(([column, value]) => {
      const own = partitionValue(column as PartitionColumn, { t, month: partitionOf(published, t) })
      return `${own} IS NOT DISTINCT FROM ${value}`
    })
    .join(' AND ')

/** Returns an SQL condition that row `t` of a record table is in partition `p` of the temporary table. */
export const isInCollected = (published: PublishedTable, t: string, columns: readonly PartitionColumn[]): string =>
  isInPartition(published, t, Object.fromEntries(columns.map(column => [column, `p.${column}`])))

interface Choice {
  published: PublishedTable
  columns: readonly PartitionColumn[]
  /** Condition on the key of row `t`; null selects all rows. */
  where: string | null
}

/** Returns a SELECT of the partitions that contain rows now. */
const presentPartitions = ({ published, columns, where }: Choice): string =>
  `SELECT ${partitionValues(columns, { t: 't', month: partitionOf(published, 't') })} FROM ${published.table} t WHERE ${where ?? 'true'}`

/** Returns a SELECT of the partitions that contain the changed rows now or contained them before. */
function touchedPartitions({ published, columns, where }: Choice, changes: Changes): string {
  const before = `SELECT ${partitionValues(columns, { t: 't', month: 't.partition_before' })}
    FROM (${earlierPartitions(published, changes)}) t WHERE ${where ?? 'true'}`
  const now = `SELECT ${partitionValues(columns, { t: 't', month: partitionOf(published, 't') })}
    FROM (${changedKeys(published, changes)}) c JOIN ${published.table} t ON ${sameKeys(published, 'c', 't')} WHERE ${where ?? 'true'}`
  return `${before} UNION ALL ${now}`
}

/** A file name has at most 255 bytes. Readers take the name of the default partition for NULL, however it is encoded. */
export const HAS_NO_FOLDER = `(strlen(url_encode(t.agent_id)) > ${255 - 'agent='.length} OR t.agent_id = ${quoteText(DEFAULT_PARTITION)})`

const segmentOf = (column: PartitionColumn, value: string | null): string =>
  `${column}=${value === null ? DEFAULT_PARTITION : hiveSegment(value)}`

/** Collects the partitions to write in a temporary table: all if `changes` is null, else those that changes touch. */
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
