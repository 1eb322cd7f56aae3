// A package: the Parquet files of one publication. It is written by the process that holds the warehouse, in one read transaction, with
// personal data and row filters already applied. The target's process reads nothing else.
import { join } from 'node:path'
import { conversation } from '../catalog/conversation/conversation.ts'
import { RECORD_NUMBER } from '../catalog/ddl.ts'
import { quoteText } from '../catalog/layout.ts'
import type { PartitionColumn } from '../config/targets.ts'
import { type Changes, changedKeys } from '../warehouse/changes/read-changes.ts'
import type { Writer } from '../warehouse/connection.ts'
import {
  COPY_OPTIONS,
  hasKeyOf,
  quotedTable,
  valuesAs,
  type Writing,
  writePartitions,
  writeRows,
} from './package-rows.ts'
import { collectPartitions, type Partition, partitionColumns } from './partitions.ts'
import { onEach, type Reader, type Readers } from './readers.ts'
import type { SelectedRelation, Selection } from './selection.ts'
import type { TargetWatermark } from './watermark.ts'

export interface PackagedTable {
  name: string
  about: string
  columns: { name: string; sqlType: string; about: string }[]
  key: string[]
  /** No two rows have the same key, whatever is done with personal data. */
  isKeyUnique: boolean
  /** Its rows belong to those of another table. */
  isChild: boolean
  /** The column with the time of a row; null: it has none. */
  timeColumn: string | null
  /** The rows are all rows of the table, and replace those of the target. */
  isWhole: boolean
  /** File with the keys whose rows are deleted before rows are inserted, the same for a record and its child tables; null: none. */
  deletes: string | null
  /** Files with the rows to insert. */
  rows: string[]
  /** The files are as readers will find them, and may become the target's own. */
  isFinal: boolean
  /** In all files. */
  rowCount: number
  /** Of a target that keeps partitions: those whose rows are replaced by the rows of the files; null: the table has none. */
  partitions: { by: readonly PartitionColumn[]; written: PackagedPartition[] } | null
}

export interface PackagedPartition extends Pick<Partition, 'folder'> {
  /** Files with its rows; none: it has no rows any more. */
  rows: string[]
  rowCount: number
}

/** What is known of a package before its tables are written. */
export interface PackageHead {
  /** `refill`: the target is written from empty. */
  kind: 'delta' | 'refill'
  /** The watermark that the target must have; null: it has none. */
  base: TargetWatermark | null
  /** The watermark that the target has afterwards. */
  watermark: TargetWatermark
  /** The target must keep no earlier state: it may contain values that are not to be published any more. */
  erases: boolean
}

export interface Package extends PackageHead {
  /**
   * All tables of a refill; the changed tables of a delta. They arrive while the package is written, which is complete when they end. A refill of
   * a snapshot has none: its next file has the rows.
   */
  tables: Iterable<PackagedTable> | AsyncIterable<PackagedTable>
}

const packaged = (
  { isFinal }: Writing,
  relation: SelectedRelation,
): Omit<PackagedTable, 'isWhole' | 'deletes' | 'rows' | 'rowCount' | 'partitions'> => {
  const { name, about, columns, key, isKeyUnique, published } = relation
  return {
    ...{ name, about, key: [...key], isKeyUnique, isFinal: isFinal(relation) },
    columns: columns.map(({ name: column, sqlType, about: text }) => ({ name: column, sqlType, about: text })),
    isChild: name !== published.table,
    timeColumn: name === published.table ? published.timeColumn : null,
  }
}

const CHANGED = 'publish_changed'

/** Of so many changes, one connection collects and writes the rows. */
const FEW_ENTRIES = 30_000

/** The numbers of the changed records, by which they and their child rows are found: three times as fast as by the key. */
const CHANGED_NUMBERS = 'publish_changed_numbers'

/** Writes the changed keys. The filter decides by keys, so keys of other rows were never in the target. @returns the file */
async function writeKeys({ readers, folder }: Writing, { key, keyValues, where, name }: SelectedRelation) {
  const file = join(folder, `${name}.deletes.parquet`)
  await readers[0].run(
    `COPY (SELECT ${valuesAs(keyValues, key)} FROM ${CHANGED} t WHERE ${where ?? 'true'}) TO ${quoteText(file)} (${COPY_OPTIONS})`,
  )
  return file
}

const hasChangedKey = ({ key }: SelectedRelation): string => hasKeyOf(CHANGED, key)

/** Writes the rows of the changed keys, whose rows the target deletes before. */
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

/** Writes all rows. */
async function writeAll(writing: Writing, relation: SelectedRelation): Promise<PackagedTable> {
  const { files, count } = await writeRows(writing, relation, relation.where)
  return {
    ...packaged(writing, relation),
    isWhole: true,
    deletes: null,
    rows: files,
    rowCount: count,
    partitions: null,
  }
}

/** A table and its child tables. */
interface Family {
  own: readonly SelectedRelation[]
  /** By which the rows are partitioned. */
  columns: readonly PartitionColumn[]
}

/** Writes all partitions of a table and its child tables (`changes` null), or those that changes touch. */
async function* writeTouched(
  writing: Writing,
  { own, columns }: Family,
  changes: Changes | null,
): AsyncGenerator<PackagedTable> {
  const { published, where } = own[0]!
  const partitions = await collectPartitions(writing.readers, { published, columns, where }, changes)
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

async function* writeEach(
  own: readonly SelectedRelation[],
  write: (relation: SelectedRelation) => Promise<PackagedTable>,
): AsyncGenerator<PackagedTable> {
  for (const relation of own) yield write(relation)
}

interface DeltaOptions {
  changes: Changes
  /** Number of changes of the table. */
  entries: number
  /** The target keeps partitions. A table without them is one. */
  isByPartition: boolean
}

/** Writes the changed rows of a table and its child tables; its own last, which take longest, since the target deletes meanwhile. */
async function* writeDelta(
  writing: Writing,
  { own, columns }: Family,
  { changes, entries, isByPartition }: DeltaOptions,
) {
  if (isByPartition) {
    if (columns.length > 0) yield* writeTouched(writing, { own, columns }, changes)
    else yield* writeEach(own, relation => writeAll(writing, relation))
    return
  }
  if (own[0]!.hasHashedKey) return yield* writeEach(own, relation => writeAll(writing, relation))
  // Each connection reads the tables for itself.
  const readers: Readers = entries > FEW_ENTRIES ? writing.readers : [writing.readers[0]]
  const collecting = { ...writing, readers }
  await onEach(readers, `CREATE OR REPLACE TEMP TABLE ${CHANGED} AS ${changedKeys(own[0]!.published, changes)}`)
  const areNumbered = own.length > 1
  if (areNumbered)
    await onEach(
      readers,
      `CREATE OR REPLACE TEMP TABLE ${CHANGED_NUMBERS} AS SELECT t.${RECORD_NUMBER.name} FROM ${own[0]!.name} t WHERE ${hasChangedKey(own[0]!)}`,
    )
  // Child tables have the keys of their record.
  const deletes = await writeKeys(collecting, own[0]!)
  yield* writeEach([...own.slice(1), own[0]!], relation => writeChanged(collecting, relation, { deletes, areNumbered }))
}

/** Writes all rows of a table and its child tables. */
const writeWhole = (writing: Writing, { own, columns }: Family): AsyncGenerator<PackagedTable> =>
  columns.length > 0
    ? writeTouched(writing, { own, columns }, null)
    : writeEach(own, relation => writeAll(writing, relation))

/**
 * Tables that a refill creates and leaves empty, since a check of them fails. Their former rows may be those of another policy or warehouse,
 * and the log no longer tells whether some of them were erased.
 */
const emptyTables = (writing: Writing, { own, columns }: Family): PackagedTable[] =>
  own.map(relation => ({
    ...packaged(writing, relation),
    isWhole: true,
    deletes: null,
    rows: [],
    rowCount: 0,
    partitions: columns.length > 0 ? { by: columns, written: [] } : null,
  }))

interface TableOptions {
  /** Null: a refill. */
  changes: Changes | null
  heldBefore: readonly string[]
  /** Of a target that keeps partitions, which are written whole; null: the target replaces rows by key. */
  partitionBy: readonly PartitionColumn[] | null
}

/**
 * Writes the rows of a refill or of a delta into files below `folder`, and yields each table when its files are written. A delta leaves blocked
 * tables as they are in the target; those that were held back before are written whole. Conversations are the first table and the largest:
 * the target applies them while all others are written.
 */
export async function* writeTables(
  writing: Writing,
  { relations, blocked }: Selection,
  { changes, heldBefore, partitionBy }: TableOptions,
): AsyncGenerator<PackagedTable> {
  const isConversations = ({ name }: SelectedRelation) => name === conversation.table
  const records = relations.filter(({ name, published: { table } }) => name === table)
  for (const { published } of [...records.filter(isConversations), ...records.filter(one => !isConversations(one))]) {
    const own = relations.filter(relation => relation.published.table === published.table)
    const family = { own, columns: partitionBy === null ? [] : partitionColumns(own[0]!, partitionBy) }
    const isBlocked = blocked.includes(published.table)
    const changed = changes?.tables.find(one => one.published.table === published.table)
    if (changes === null || (!isBlocked && heldBefore.includes(published.table)))
      yield* isBlocked ? emptyTables(writing, family) : writeWhole(writing, family)
    else if (changed && !isBlocked)
      yield* writeDelta(writing, family, { changes, entries: changed.entries, isByPartition: partitionBy !== null })
  }
}

/** Number of rows and a checksum of their values, by table. */
export type Sums = Record<string, { rows: string; checksum: string }>

/** The sum over `values` of the rows of `from`. */
export async function sumOf(
  { rows }: Pick<Writer, 'rows'>,
  { values, from }: { values: readonly string[]; from: string },
): Promise<Sums[string]> {
  const checksum = `coalesce(sum(hash(${values.join(', ')})::HUGEINT), 0)::VARCHAR`
  const [sum] = await rows<Sums[string]>(`SELECT count(*)::VARCHAR AS rows, ${checksum} AS checksum FROM ${from}`)
  return { rows: sum!.rows, checksum: sum!.checksum }
}

/** The sums of what a target must contain after the package, from the same transaction as the package. Not of tables that it lacks (`held`). */
export async function sumsOfSelection(
  { reader, signal, held }: { reader: Reader; signal: AbortSignal; held: readonly string[] },
  { relations }: Selection,
): Promise<Sums> {
  const sums: Sums = {}
  for (const { name, values, where, published } of relations) {
    if (held.includes(published.table)) continue
    signal.throwIfAborted()
    sums[name] = await sumOf(reader, { values, from: `${quotedTable(name)} t WHERE ${where ?? 'true'}` })
  }
  return sums
}
