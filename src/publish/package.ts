// A package: the Parquet files of one publication. It is written by the process that holds the warehouse, in one read transaction, with
// personal data and row filters already applied. The target's process reads nothing else.
import { join } from 'node:path'
import { conversation } from '../catalog/conversation/conversation.ts'
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { quoteText } from '../catalog/layout.ts'
import type { PartitionColumn } from '../config/targets/parquet.ts'
import { type Changes, changedKeys } from '../warehouse/changes/read-changes.ts'
import type { Writer } from '../warehouse/connection.ts'
import {
  COPY_OPTIONS,
  hasKeyOf,
  quotedTable,
  valuesAs,
  type Writing,
  type WrittenRows,
  writePartitions,
  writeRows,
} from './package-rows.ts'
import { collectPartitions, type Partition, partitionColumns } from './partitions.ts'
import type { Reader } from './reading.ts'
import type { SelectedRelation, Selection } from './selection.ts'
import type { TargetWatermark } from './watermark.ts'

export interface PackagedTable {
  name: string
  about: string
  columns: { name: string; sqlType: string; about: string }[]
  key: string[]
  /** No two rows have the same key, whatever is done with personal data. */
  isKeyUnique: boolean
  /** True for a child table. */
  isChild: boolean
  /** The column with the time of a row; null: it has none. */
  timeColumn: string | null
  /** The files have all rows of the table, which replace those of the target. */
  isWhole: boolean
  /** File with the keys whose rows are deleted before rows are inserted, the same for a record and its child tables; null: none. */
  deletes: string | null
  /** Files with the rows to insert. */
  rows: string[]
  /** The target may take the files as they are: readers can read them. */
  isFinal: boolean
  /** The number of rows in all files. */
  rowCount: number
  /** The partitions whose rows the files replace, for a target that keeps partitions; null: the table has none. */
  partitions: { by: readonly PartitionColumn[]; written: PackagedPartition[] } | null
}

export interface PackagedPartition extends Pick<Partition, 'folder'> {
  /** Files with its rows; an empty list removes the partition. */
  rows: string[]
  rowCount: number
}

/** The part of a package that is known before its tables are written. */
export interface PackageHead {
  /** `refill`: the target is written from empty. */
  kind: 'delta' | 'refill'
  /** The watermark that the target must have; null: none. */
  base: TargetWatermark | null
  /** The watermark that the target has afterwards. */
  watermark: TargetWatermark
  /** The target must keep no earlier state, which may contain values that are no longer published. */
  erases: boolean
}

export interface Package extends PackageHead {
  /**
   * All tables of a refill, or the changed tables of a delta. They arrive while the package is written; it is complete when they end. A refill
   * of a snapshot has none, because its next file has the rows already.
   */
  tables: Iterable<PackagedTable> | AsyncIterable<PackagedTable>
}

const packaged = (
  { isFinal }: Writing,
  relation: SelectedRelation,
): Omit<PackagedTable, 'isWhole' | 'deletes' | 'rows' | 'rowCount' | 'partitions'> => {
  const { name, about, columns, key, isKeyUnique, published } = relation
  return {
    ...{ name, about, key: [...key], isKeyUnique, isFinal },
    columns: columns.map(({ name: column, sqlType, about: text }) => ({ name: column, sqlType, about: text })),
    isChild: name !== published.table,
    timeColumn: name === published.table ? published.timeColumn : null,
  }
}

const CHANGED = 'publish_changed'

/** The numbers of the changed records find them and their child rows three times as fast as the key. */
const CHANGED_NUMBERS = 'publish_changed_numbers'

/** Writes the changed keys. The filter decides by keys, so keys of other rows were never in the target. @returns the file */
async function writeKeys({ reader, folder }: Writing, { key, keyValues, where, name }: SelectedRelation) {
  const file = join(folder, `${name}.deletes.parquet`)
  await reader.run(
    `COPY (SELECT ${valuesAs(keyValues, key)} FROM ${CHANGED} t WHERE ${where ?? 'true'}) TO ${quoteText(file)} (${COPY_OPTIONS})`,
  )
  return file
}

const hasChangedKey = ({ key }: SelectedRelation): string => hasKeyOf(CHANGED, key)

/** Writes the rows of the changed keys, whose former rows the target deletes. */
async function writeChanged(
  writing: Writing,
  relation: SelectedRelation,
  { deletes, areNumbered }: { deletes: string; areNumbered: boolean },
): Promise<PackagedTable> {
  const { where } = relation
  const isChanged = areNumbered
    ? `t.${RECORD_NUMBER.name} IN (SELECT ${RECORD_NUMBER.name} FROM ${CHANGED_NUMBERS})`
    : hasChangedKey(relation)
  const { files, count } = await writeRows(writing, relation, [isChanged, ...(where ? [where] : [])].join(' AND '))
  return { ...packaged(writing, relation), isWhole: false, deletes, rows: files, rowCount: count, partitions: null }
}

const wholeTable = (writing: Writing, relation: SelectedRelation, { files, count }: WrittenRows): PackagedTable => ({
  ...packaged(writing, relation),
  ...{ isWhole: true, deletes: null, rows: files, rowCount: count, partitions: null },
})

/** Writes all rows. */
const writeAll = async (writing: Writing, relation: SelectedRelation): Promise<PackagedTable> =>
  wholeTable(writing, relation, await writeRows(writing, relation, relation.where))

/** A table and its child tables. */
interface Family {
  own: readonly SelectedRelation[]
  /** The columns that rows are partitioned by. */
  columns: readonly PartitionColumn[]
}

/** Writes all partitions of a table and its child tables (`changes` null), or those that changes touch. */
async function* writeTouched(
  writing: Writing,
  { own, columns }: Family,
  changes: Changes | null,
): AsyncGenerator<PackagedTable> {
  const { published, where } = own[0]!
  const partitions = await collectPartitions(writing.reader, { published, columns, where }, changes)
  for (const relation of own) {
    const rows = await writePartitions(writing, { relation, columns, partitions })
    const parts = partitions.map(({ id, folder }) => {
      const { files, count } = rows.get(id) ?? { files: [], count: 0 }
      return { folder, rows: files, rowCount: count }
    })
    const rowCount = parts.reduce((sum, part) => sum + part.rowCount, 0)
    const partitioned = { rows: [], rowCount, partitions: { by: columns, written: parts } }
    yield { ...packaged(writing, relation), isWhole: changes === null, deletes: null, ...partitioned }
  }
}

/** Writes all rows of a table and its child tables. */
async function* writeWhole(writing: Writing, { own, columns }: Family): AsyncGenerator<PackagedTable> {
  if (columns.length > 0) return yield* writeTouched(writing, { own, columns }, null)
  for (const relation of own) yield writeAll(writing, relation)
}

/** Yields the tables that a refill creates and leaves empty, since a check of them fails. */
function* emptyTables(writing: Writing, { own, columns }: Family): Generator<PackagedTable> {
  const partitions = columns.length > 0 ? { by: columns, written: [] } : null
  for (const relation of own) yield { ...wholeTable(writing, relation, { files: [], count: 0 }), partitions }
}

/** Writes the changed rows of a table and its child tables. Its own take longest and come last: the target deletes while they are written. */
async function* writeDelta(
  writing: Writing,
  family: Family,
  { changes, isByPartition }: { changes: Changes; isByPartition: boolean },
): AsyncGenerator<PackagedTable> {
  const { own, columns } = family
  const [parent, ...children] = own as [SelectedRelation, ...SelectedRelation[]]
  if (columns.length > 0) return yield* writeTouched(writing, family, changes)
  if (isByPartition || parent.hasHashedKey) return yield* writeWhole(writing, family)
  const { reader } = writing
  await reader.run(`CREATE OR REPLACE TEMP TABLE ${CHANGED} AS ${changedKeys(parent.published, changes)}`)
  const areNumbered = children.length > 0
  if (areNumbered)
    await reader.run(
      `CREATE OR REPLACE TEMP TABLE ${CHANGED_NUMBERS} AS SELECT t.${RECORD_NUMBER.name} FROM ${parent.name} t WHERE ${hasChangedKey(parent)}`,
    )
  // Child tables have the keys of their record.
  const deletes = await writeKeys(writing, parent)
  for (const relation of [...children, parent]) yield writeChanged(writing, relation, { deletes, areNumbered })
}

interface TableOptions {
  /** Null: a refill. */
  changes: Changes | null
  /** The target keeps partitions, which are written whole; null: it replaces rows by key. */
  partitionBy: readonly PartitionColumn[] | null
}

/**
 * Writes the rows of a refill or of a delta into files below `folder`, and yields each table when its files are written. Conversations are the
 * first table and the largest: the target applies them while all others are written.
 */
export async function* writeTables(
  writing: Writing,
  { relations, blocked }: Selection,
  { changes, partitionBy }: TableOptions,
): AsyncGenerator<PackagedTable> {
  const isConversations = ({ name }: SelectedRelation) => name === conversation.table
  const records = relations.filter(({ name, published: { table } }) => name === table)
  for (const { published } of [...records.filter(isConversations), ...records.filter(one => !isConversations(one))]) {
    const own = relations.filter(relation => relation.published.table === published.table)
    const family = { own, columns: partitionBy === null ? [] : partitionColumns(own[0]!, partitionBy) }
    if (changes !== null) {
      const isChanged = changes.tables.some(one => one.published.table === published.table)
      if (isChanged) yield* writeDelta(writing, family, { changes, isByPartition: partitionBy !== null })
    } else if (blocked.has(published.table)) yield* emptyTables(writing, family)
    else yield* writeWhole(writing, family)
  }
}

/** Number of rows and a checksum of their values, by table. */
export type Sums = Record<string, { rows: string; checksum: string }>

/** Returns the sum over `values` of the rows of `from`. */
export async function sumOf(
  { rows }: Pick<Writer, 'rows'>,
  { values, from }: { values: readonly string[]; from: string },
): Promise<Sums[string]> {
  const checksum = `coalesce(sum(hash(${values.join(', ')})::HUGEINT), 0)::VARCHAR`
  const [sum] = await rows<Sums[string]>(`SELECT count(*)::VARCHAR AS rows, ${checksum} AS checksum FROM ${from}`)
  return { rows: sum!.rows, checksum: sum!.checksum }
}

/** Returns the sums of what a target must contain after the package, from the transaction of the package. */
export async function sumsOfSelection(
  { reader, signal }: { reader: Reader; signal: AbortSignal },
  { relations, blocked }: Selection,
): Promise<Sums> {
  const sums: Sums = {}
  for (const { name, values, where, published } of relations) {
    if (blocked.has(published.table)) continue
    signal.throwIfAborted()
    sums[name] = await sumOf(reader, { values, from: `${quotedTable(name)} t WHERE ${where ?? 'true'}` })
  }
  return sums
}
