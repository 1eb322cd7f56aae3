// Writes the rows of one table into the files of a package, in slices. One COPY of all conversations would use all
// threads, and each thread would hold a row group of wide rows.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { quotedTable, quoteName, quoteText, sameKey } from '../catalog/layout.ts'
import { RECORD_TYPES } from '../catalog/records.ts'
import type { PartitionColumn } from '../config/targets/parquet.ts'
import { ROW_GROUP_ROWS } from '../warehouse/open.ts'
import { PUBLISHED_FORMAT, pandasOption, writtenValue } from './parquet-columns.ts'
import { isInCollected, isInPartition, PARTITIONS, type Partition } from './partitions.ts'
import type { Reader } from './reading.ts'
import type { SelectedRelation } from './selection.ts'

/** Rows per COPY. One thread reads one row group, so two threads read wide records and all threads read other tables. */
const SLICE_ROWS = { record: 2 * ROW_GROUP_ROWS, other: 16 * ROW_GROUP_ROWS }

/** Rows per COPY of one partition, whose range may contain rows of other partitions. Files for readers take more memory to write. */
const PARTITION_SLICE_ROWS = { record: 10_000, other: 25_000 }

const RECORD_TABLES = new Set(RECORD_TYPES.map(({ table }) => table))

/** True if the rows are records, which are wide: 30,000 conversations make a file of 12 MB. */
const isRecord = ({ name }: SelectedRelation): boolean => RECORD_TABLES.has(name)

/** Options for a file that is read once and completely. Bloom filters would take a seventh of its time. */
const READ_ONCE = 'FORMAT parquet, COMPRESSION lz4_raw, WRITE_BLOOM_FILTER false'

/** Options for records. DuckDB prepares each file for one row group; the default of 122,880 rows takes a seventh longer. */
export const COPY_OPTIONS = `${READ_ONCE}, ROW_GROUP_SIZE 6144`

/** The byte limit makes row groups smaller where rows are long. */
const COPY_OPTIONS_OF_OTHERS = `${READ_ONCE}, ROW_GROUP_SIZE 61440, ROW_GROUP_SIZE_BYTES '8MB'`

/**
 * Returns an SQL condition that row `t` has one of the keys of the table `keys`. `(…) IN (SELECT …)` takes half as long
 * again, since DuckDB compares the first columns with constants for each row.
 */
export const hasKeyOf = (keys: string, key: readonly string[]): string =>
  `EXISTS (FROM ${keys} k WHERE ${sameKey(key, 't', 'k')})`

export const valuesAs = (values: readonly string[], names: readonly string[]): string =>
  values.map((value, index) => `${value} AS ${quoteName(names[index]!)}`).join(', ')

export interface Writing {
  reader: Reader
  folder: string
  /** True if the target publishes these files unchanged, so they are written in their final format. */
  isFinal: boolean
  signal: AbortSignal
}

/** A range of row ids, both ends included. */
interface Slice {
  first: number
  last: number
}

const isChild = ({ name, published }: SelectedRelation): boolean => name !== published.table

const sliceRows = (relation: SelectedRelation, of = SLICE_ROWS): number => (isRecord(relation) ? of.record : of.other)

/** Returns ranges over all rows. DuckDB skips the row groups outside of a range. */
export async function slicesOfAll({ rows }: Reader, relation: SelectedRelation): Promise<Slice[]> {
  const [row] = await rows<{ last: string }>(
    `SELECT coalesce(max(rowid), -1)::VARCHAR AS last FROM ${quotedTable(relation.name)}`,
  )
  const step = sliceRows(relation)
  const count = Math.ceil((Number(row!.last) + 1) / step)
  return Array.from({ length: count }, (_, index) => ({ first: index * step, last: (index + 1) * step - 1 }))
}

/** Temporary table with the ids of the rows to write and their partitions. It is filled once, not once per slice. */
const CHOSEN = 'publish_rows'

const choose = ({ reader }: Writing, select: string): Promise<void> =>
  reader.run(`CREATE OR REPLACE TEMP TABLE ${CHOSEN} AS ${select}`)

/** Returns ranges over the chosen rows, with at most `most` rows each. */
async function slicesOfChosen({ reader }: Writing, most: number): Promise<Slice[]> {
  const slices = await reader.rows<{ first: string; last: string }>(`
    SELECT min(id)::VARCHAR AS first, max(id)::VARCHAR AS last
    FROM (SELECT id, (row_number() OVER (ORDER BY id) - 1) // ${most} AS slice FROM ${CHOSEN})
    GROUP BY slice ORDER BY slice`)
  return slices.map(({ first, last }) => ({ first: Number(first), last: Number(last) }))
}

/** Copies the rows of a SELECT. @returns their number */
async function copy(
  { reader, signal }: Writing,
  { file, select, options }: { file: string; select: string; options: string },
): Promise<number> {
  signal.throwIfAborted()
  const [written] = await reader.rows<{ Count: string }>(`COPY (${select}) TO ${quoteText(file)} (${options})`)
  return Number(written!.Count)
}

const valuesOf = ({ isFinal }: Writing, { values, columns }: SelectedRelation): string =>
  valuesAs(
    isFinal ? values.map((value, index) => writtenValue(value, columns[index]!)) : values,
    columns.map(({ name }) => name),
  )

function optionsOf({ isFinal }: Writing, relation: SelectedRelation): string {
  if (isFinal) return `${PUBLISHED_FORMAT}, ${pandasOption(relation.columns)}`
  return isRecord(relation) ? COPY_OPTIONS : COPY_OPTIONS_OF_OTHERS
}

/** The files with the rows of a table, or of one of its partitions. */
export interface WrittenRows {
  files: string[]
  count: number
}

/** Writes the rows that satisfy `condition`, or all rows if it is null. */
export async function writeRows(
  writing: Writing,
  relation: SelectedRelation,
  condition: string | null,
): Promise<WrittenRows> {
  const table = quotedTable(relation.name)
  if (condition !== null) await choose(writing, `SELECT t.rowid AS id FROM ${table} t WHERE ${condition}`)
  const slices = await (condition === null
    ? slicesOfAll(writing.reader, relation)
    : slicesOfChosen(writing, sliceRows(relation)))
  const written: WrittenRows = { files: [], count: 0 }
  for (const [index, { first, last }] of slices.entries()) {
    const inRange = `BETWEEN ${first} AND ${last}`
    const chosen = condition === null ? '' : `AND t.rowid IN (SELECT id FROM ${CHOSEN} WHERE id ${inRange})`
    const file = join(writing.folder, `${relation.name}.${index}.parquet`)
    const select = `SELECT ${valuesOf(writing, relation)} FROM ${table} t WHERE t.rowid ${inRange} ${chosen}`
    const count = await copy(writing, { file, select, options: optionsOf(writing, relation) })
    if (count > 0) written.files.push(file)
    written.count += count
  }
  return written
}

type RowsOfPartitions = Map<Partition['id'], WrittenRows>

interface Partitioned {
  relation: SelectedRelation
  /** The columns that define the partitions. */
  columns: readonly PartitionColumn[]
  /** The partitions to write. The temporary table also contains them. */
  partitions: readonly Partition[]
}

interface PartitionSlice extends Slice {
  partition: Partition
}

/** Slices per block, within which rows are ordered by partition: a month's rows may be spread over the whole table. */
const SLICES_PER_BLOCK = 10

/** Returns ranges over the rows of each partition. */
async function slicesOfPartitions(
  { reader }: Writing,
  { relation, columns, partitions }: Partitioned,
): Promise<PartitionSlice[]> {
  const { name, published, where } = relation
  const most = sliceRows(relation, PARTITION_SLICE_ROWS)
  const slices = await reader.rows<{ id: number; first: string; last: string }>(`
    SELECT id, min(row)::VARCHAR AS first, max(row)::VARCHAR AS last FROM (
      SELECT *, (row_number() OVER (PARTITION BY block, id ORDER BY row) - 1) // ${most} AS slice FROM (
        SELECT t.rowid AS row, p.id, (row_number() OVER (ORDER BY t.rowid) - 1) // ${most * SLICES_PER_BLOCK} AS block
        FROM ${quotedTable(name)} t JOIN ${PARTITIONS} p ON ${isInCollected(published, 't', columns)}
        WHERE ${where ?? 'true'}))
    GROUP BY block, id, slice ORDER BY block, id, slice`)
  const byId = new Map(partitions.map(partition => [partition.id, partition]))
  return slices.map(({ id, first, last }) => ({ first: Number(first), last: Number(last), partition: byId.get(id)! }))
}

/** Writes each slice of one partition. A COPY of a wide table into several files takes twice as long. */
async function writeOwn(writing: Writing, partitioned: Partitioned): Promise<RowsOfPartitions> {
  const { relation } = partitioned
  const { name, published, where } = relation
  const rows: RowsOfPartitions = new Map()
  for (const [index, { first, last, partition }] of (await slicesOfPartitions(writing, partitioned)).entries()) {
    const file = join(writing.folder, `${name}.${index}.parquet`)
    // With values instead of a join, DuckDB reads no other columns of rows in other partitions.
    const isOfSlice = `t.rowid BETWEEN ${first} AND ${last} AND ${isInPartition(published, 't', partition.values)}`
    const select = `SELECT ${valuesOf(writing, relation)} FROM ${quotedTable(name)} t WHERE ${isOfSlice} AND ${where ?? 'true'}`
    const written = await copy(writing, { file, select, options: optionsOf(writing, relation) })
    const { files, count } = rows.get(partition.id) ?? { files: [], count: 0 }
    rows.set(partition.id, { files: [...files, file], count: count + written })
  }
  return rows
}

const PARTITION = 'publish_partition'

/** Child rows per COPY, which writes one file for each partition. */
const PARTITIONED_ROWS = 4 * ROW_GROUP_ROWS

/** Writes each slice into one file per partition, so that the target never reads files of other partitions. */
async function writeChildren(writing: Writing, { relation, columns }: Partitioned): Promise<RowsOfPartitions> {
  const { reader, folder } = writing
  const { name, published, where } = relation
  const table = quotedTable(name)
  await choose(
    writing,
    `SELECT t.rowid AS id, p.id AS partition
      FROM ${table} t JOIN ${published.table} r ON r.${RECORD_NUMBER.name} = t.${RECORD_NUMBER.name}
      JOIN ${PARTITIONS} p ON ${isInCollected(published, 'r', columns)} WHERE ${where ?? 'true'}`,
  )
  const counts = await reader.rows<{ id: number; rows: string }>(
    `SELECT partition AS id, count(*)::VARCHAR AS rows FROM ${CHOSEN} GROUP BY partition`,
  )
  const rows: RowsOfPartitions = new Map(counts.map(one => [one.id, { files: [], count: Number(one.rows) }]))
  const slices = await slicesOfChosen(writing, PARTITIONED_ROWS)
  for (const [index, { first, last }] of slices.entries()) {
    const written = join(folder, `${name}.${index}`)
    const inRange = `BETWEEN ${first} AND ${last}`
    const select = `SELECT ${valuesOf(writing, relation)}, c.partition AS ${PARTITION} FROM ${table} t
      JOIN ${CHOSEN} c ON c.id = t.rowid WHERE t.rowid ${inRange} AND c.id ${inRange}`
    const options = `${optionsOf(writing, relation)}, PARTITION_BY (${PARTITION})`
    await copy(writing, { file: written, select, options })
    for (const partition of await readdir(written)) {
      const { files } = rows.get(Number(partition.slice(PARTITION.length + 1)))!
      for (const file of await readdir(join(written, partition))) files.push(join(written, partition, file))
    }
  }
  return rows
}

/** Writes all rows of the collected partitions. Child rows are in their record's partition. @returns files by partition id */
export const writePartitions = (writing: Writing, partitioned: Partitioned): Promise<RowsOfPartitions> =>
  (isChild(partitioned.relation) ? writeChildren : writeOwn)(writing, partitioned)
