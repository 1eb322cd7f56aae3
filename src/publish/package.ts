// A package contains the Parquet files of one publication. The process that holds the warehouse writes it in one read
// transaction, with personal data and row filters already applied. The target's process reads nothing else.
import { join } from 'node:path'
import { conversation } from '../catalog/conversation/conversation.ts'
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { quotedTable, quoteText } from '../catalog/layout.ts'
import type { PartitionColumn } from '../config/targets/parquet.ts'
import { type Changes, changedKeys } from '../warehouse/changes/read-changes.ts'
import type { Writer } from '../warehouse/connection.ts'
import {
  COPY_OPTIONS,
  hasKeyOf,
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
  /** True if no two rows have the same key, even after hashing. */
  isKeyUnique: boolean
  /** True for a child table. */
  isChild: boolean
  /** The column with the time of a row; null if it has none. */
  timeColumn: string | null
  /** True if the files contain all rows of the table and replace those of the target. */
  isWhole: boolean
  /** File with the keys to delete before the insert, shared by a record and its child tables; null if there are none. */
  deletes: string | null
  /** Files with the rows to insert. */
  rows: string[]
  /** Number of rows in all files. */
  rowCount: number
  /** The partitions whose rows the files replace, for a target that keeps partitions; null if the table has none. */
  partitions: { by: readonly PartitionColumn[]; written: PackagedPartition[] } | null
}

export interface PackagedPartition extends Pick<Partition, 'folder'> {
  /** Files with the rows of the partition; an empty list removes the partition. */
  rows: string[]
  rowCount: number
}

/** The part of a package that is known before its tables are written. */
export interface PackageHead {
  /** `refill` writes the target from empty. */
  kind: 'delta' | 'refill'
  /** The watermark that the target must have before; null for none. */
  base: TargetWatermark | null
  /** The watermark that the target has afterwards. */
  watermark: TargetWatermark
  /** True if the target must not keep any earlier state, which may contain values that are no longer published. */
  erases: boolean
}

export interface Package extends PackageHead {
  /**
   * All tables of a refill, or the changed tables of a delta. They arrive while the package is written, which is complete
   * when they end. The package of a snapshot's refill has no tables, because the next file already contains the rows.
   */
  tables: Iterable<PackagedTable> | AsyncIterable<PackagedTable>
}

const packaged = (
  relation: SelectedRelation,
): Omit<PackagedTable, 'isWhole' | 'deletes' | 'rows' | 'rowCount' | 'partitions'> => {
  const { name, about, columns, key, isKeyUnique, published } = relation
  return {
    ...{ name, about, key: [...key], isKeyUnique },
    columns: columns.map(({ name: column, sqlType, about: text }) => ({ name: column, sqlType, about: text })),
    isChild: name !== published.table,
    timeColumn: name === published.table ? published.timeColumn : null,
  }
}

const CHANGED = 'publish_changed'

/** Temporary table of changed record numbers. They find records and child rows three times as fast as the key. */
const CHANGED_NUMBERS = 'publish_changed_numbers'

/** Writes the changed keys that satisfy the filter; the target never had the others. @returns the file */
async function writeKeys({ reader, folder }: Writing, { key, keyValues, where, name }: SelectedRelation) {
  const file = join(folder, `${name}.deletes.parquet`)
  await reader.run(
    `COPY (SELECT ${valuesAs(keyValues, key)} FROM ${CHANGED} t WHERE ${where ?? 'true'}) TO ${quoteText(file)} (${COPY_OPTIONS})`,
  )
  return file
}

const hasChangedKey = ({ key }: SelectedRelation): string => hasKeyOf(CHANGED, key)

/** Writes the new rows of the changed keys; the target deletes the old ones. */
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
  return { ...packaged(relation), isWhole: false, deletes, rows: files, rowCount: count, partitions: null }
}

const wholeTable = (relation: SelectedRelation, { files, count }: WrittenRows): PackagedTable => ({
  ...packaged(relation),
  ...{ isWhole: true, deletes: null, rows: files, rowCount: count, partitions: null },
})

/** Writes all rows. */
const writeAll = async (writing: Writing, relation: SelectedRelation): Promise<PackagedTable> =>
  wholeTable(relation, await writeRows(writing, relation, relation.where))

/** A table and its child tables. */
interface Family {
  own: readonly SelectedRelation[]
  /** The columns that define the partitions. */
  columns: readonly PartitionColumn[]
}

/** Writes all partitions of a table and its child tables if `changes` is null, else those that the changes touch. */
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
    yield { ...packaged(relation), isWhole: changes === null, deletes: null, ...partitioned }
  }
}

/** Writes all rows of a table and its child tables. */
async function* writeWhole(writing: Writing, { own, columns }: Family): AsyncGenerator<PackagedTable> {
  if (columns.length > 0) return yield* writeTouched(writing, { own, columns }, null)
  for (const relation of own) yield writeAll(writing, relation)
}

/** Yields the tables that a refill creates but leaves empty because a check fails. */
function* emptyTables({ own, columns }: Family): Generator<PackagedTable> {
  const partitions = columns.length > 0 ? { by: columns, written: [] } : null
  for (const relation of own) yield { ...wholeTable(relation, { files: [], count: 0 }), partitions }
}

/** Writes the changed rows of a table and its child tables. The largest table comes last: the target deletes while it is written. */
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
  // Child tables share the keys of their record.
  const deletes = await writeKeys(writing, parent)
  for (const relation of [...children, parent]) yield writeChanged(writing, relation, { deletes, areNumbered })
}

interface TableOptions {
  /** Null for a refill. */
  changes: Changes | null
  /** Columns of the partitions that the target keeps and that are written whole; null if it replaces rows by key. */
  partitionBy: readonly PartitionColumn[] | null
}

/**
 * Writes the rows of a refill or a delta into files below `folder`, and yields each table once its files are written.
 * Conversations are the first and largest table: the target applies them while the others are written.
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
    } else if (blocked.has(published.table)) yield* emptyTables(family)
    else yield* writeWhole(writing, family)
  }
}

/** Row count and checksum of the values, by table. */
export type Sums = Record<string, { rows: string; checksum: string }>

/** Returns the row count and the checksum of `values` for the rows of `from`. */
export async function sumOf(
  { rows }: Pick<Writer, 'rows'>,
  { values, from }: { values: readonly string[]; from: string },
): Promise<Sums[string]> {
  const checksum = `coalesce(sum(hash(${values.join(', ')})::HUGEINT), 0)::VARCHAR`
  const [sum] = await rows<Sums[string]>(`SELECT count(*)::VARCHAR AS rows, ${checksum} AS checksum FROM ${from}`)
  return { rows: sum!.rows, checksum: sum!.checksum }
}

/** Returns the sums that the target must have after the package, read in the package's transaction. */
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
