// Writes the rows of one table into the files of a package, in slices: one COPY of all conversations needs more than the memory limit.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { quoteName, quoteText } from '../catalog/layout.ts'
import { RECORD_TYPES } from '../catalog/records.ts'
import type { PartitionColumn } from '../config/targets.ts'
import type { Writer } from '../warehouse/connection.ts'
import { isInPartition, PARTITIONS, type Partition } from './partitions.ts'
import type { SelectedRelation } from './selection.ts'

/** Rows a COPY of a table of records, and of any other table, whose rows are smaller: some 40 MB of memory each. */
const SLICE_ROWS = { record: 5_000, other: 25_000 }

const RECORD_TABLES = new Set(RECORD_TYPES.map(({ table }) => table))

/** Rows are counted in buckets of ids, of which consecutive ones make up a slice. */
const BUCKETS_PER_SLICE = 10

/** DuckDB prepares each file for a row group of this size: the default, 122,880 rows, takes a seventh longer. */
export const COPY_OPTIONS = 'FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 6144'

/** SQL of a table's name, which may have a schema. */
export const quotedTable = (name: string): string => name.split('.').map(quoteName).join('.')

export const valuesAs = (values: readonly string[], names: readonly string[]): string =>
  values.map((value, index) => `${value} AS ${quoteName(names[index]!)}`).join(', ')

export interface Writing {
  /** A connection within the read transaction. */
  reader: Pick<Writer, 'run' | 'rows'>
  folder: string
  signal: AbortSignal
}

/** A range of row ids, ends included. */
interface Slice {
  first: number
  last: number
}

const sliceRows = ({ name }: SelectedRelation): number =>
  RECORD_TABLES.has(name) ? SLICE_ROWS.record : SLICE_ROWS.other

/** Ranges over all rows. Row ids are stable within a transaction, and DuckDB skips the row groups outside of a range. */
async function slicesOfAll({ reader }: Writing, relation: SelectedRelation): Promise<Slice[]> {
  const [row] = await reader.rows<{ last: string | null }>(
    `SELECT max(rowid)::VARCHAR AS last FROM ${quotedTable(relation.name)}`,
  )
  if (row!.last === null) return []
  const step = sliceRows(relation)
  const count = Math.ceil((Number(row!.last) + 1) / step)
  return Array.from({ length: count }, (_, index) => ({ first: index * step, last: (index + 1) * step - 1 }))
}

/** The ids of the rows to write, and the partition of each: chosen once, not once a slice. */
const CHOSEN = 'publish_rows'

/** Ranges over the chosen rows. */
async function slicesOfChosen({ reader }: Writing, relation: SelectedRelation): Promise<Slice[]> {
  const most = sliceRows(relation)
  const buckets = await reader.rows<Record<'first' | 'last' | 'rows', string>>(`
    SELECT min(id)::VARCHAR AS first, max(id)::VARCHAR AS last, count(*)::VARCHAR AS rows
    FROM ${CHOSEN} GROUP BY id // ${most / BUCKETS_PER_SLICE} ORDER BY min(id)`)
  const slices: Slice[] = []
  let rows = Number.POSITIVE_INFINITY
  for (const bucket of buckets) {
    rows += Number(bucket.rows)
    if (rows > most) {
      slices.push({ first: Number(bucket.first), last: Number(bucket.last) })
      rows = Number(bucket.rows)
    } else slices.at(-1)!.last = Number(bucket.last)
  }
  return slices
}

interface Copied {
  file: string
  select: string
  options?: string
}

async function copy({ reader, signal }: Writing, { file, select, options = '' }: Copied): Promise<number> {
  signal.throwIfAborted()
  const sql = `COPY (${select}) TO ${quoteText(file)} (${COPY_OPTIONS}${options})`
  const [written] = await reader.rows<{ Count: string }>(sql)
  return Number(written!.Count)
}

const valuesOf = ({ values, columns }: SelectedRelation): string =>
  valuesAs(
    values,
    columns.map(({ name }) => name),
  )

/** Writes the rows that satisfy `condition`; null: all rows. @returns the files, and the number of rows */
export async function writeRows(
  writing: Writing,
  relation: SelectedRelation,
  condition: string | null,
): Promise<{ files: string[]; count: number }> {
  const { reader, folder } = writing
  const table = quotedTable(relation.name)
  if (condition !== null)
    await reader.run(
      `CREATE OR REPLACE TEMP TABLE ${CHOSEN} AS SELECT t.rowid AS id FROM ${table} t WHERE ${condition}`,
    )
  const slices = await (condition === null ? slicesOfAll : slicesOfChosen)(writing, relation)
  const files: string[] = []
  let count = 0
  for (const [index, { first, last }] of slices.entries()) {
    const file = join(folder, `${relation.name}.${index}.parquet`)
    const inRange = `BETWEEN ${first} AND ${last}`
    const chosen = condition === null ? '' : `AND t.rowid IN (SELECT id FROM ${CHOSEN} WHERE id ${inRange})`
    const select = `SELECT ${valuesOf(relation)} FROM ${table} t WHERE t.rowid ${inRange} ${chosen}`
    const rows = await copy(writing, { file, select })
    if (rows > 0) files.push(file)
    count += rows
  }
  return { files, count }
}

const PARTITION = 'publish_partition'

/**
 * Writes all rows of the collected partitions (`collectPartitions`). Child rows lie in the partition of their record. Each slice is
 * written into one file for each partition that it has rows of, so that the target reads only the files of the partition that it writes.
 * @returns the files by the id of their partition
 */
export async function writePartitions(
  writing: Writing,
  relation: SelectedRelation,
  columns: readonly PartitionColumn[],
): Promise<{ files: Map<Partition['id'], string[]>; count: number }> {
  const { reader, folder } = writing
  const { name, published, where } = relation
  const table = quotedTable(name)
  const isChild = name !== published.table
  const record = isChild ? `JOIN ${published.table} r ON r.${RECORD_NUMBER.name} = t.${RECORD_NUMBER.name}` : ''
  const lies = isInPartition(published, columns, { t: isChild ? 'r' : 't', p: 'p' })
  await reader.run(`CREATE OR REPLACE TEMP TABLE ${CHOSEN} AS SELECT t.rowid AS id, p.id AS partition
    FROM ${table} t ${record} JOIN ${PARTITIONS} p ON ${lies} WHERE ${where ?? 'true'}`)
  const files = new Map<Partition['id'], string[]>()
  let count = 0
  for (const [index, { first, last }] of (await slicesOfChosen(writing, relation)).entries()) {
    const file = join(folder, `${name}.${index}`)
    const inRange = `BETWEEN ${first} AND ${last}`
    const select = `SELECT ${valuesOf(relation)}, c.partition AS ${PARTITION} FROM ${table} t
      JOIN ${CHOSEN} c ON c.id = t.rowid WHERE t.rowid ${inRange} AND c.id ${inRange}`
    count += await copy(writing, { file, select, options: `, PARTITION_BY (${PARTITION})` })
    for (const partition of await readdir(file)) {
      const id = Number(partition.slice(PARTITION.length + 1))
      const own = (await readdir(join(file, partition))).map(part => join(file, partition, part))
      files.set(id, [...(files.get(id) ?? []), ...own])
    }
  }
  return { files, count }
}
