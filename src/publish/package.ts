// A package: the Parquet files of one publication. It is written by the process that holds the warehouse, in one read transaction, with
// personal data and row filters already applied. The target's process reads nothing else.
import { join } from 'node:path'
import { quoteName, quoteText } from '../catalog/layout.ts'
import { type Changes, changedKeys } from '../warehouse/changes/read-changes.ts'
import type { Writer } from '../warehouse/connection.ts'
import type { SelectedRelation, Selection } from './selection.ts'
import type { TargetWatermark } from './watermark.ts'

export interface PackagedTable {
  name: string
  about: string
  columns: { name: string; sqlType: string; about: string }[]
  key: string[]
  /** The rows are all rows of the table, and replace those of the target. */
  isWhole: boolean
  /** File with the keys whose rows are deleted before rows are inserted; null: none. */
  deletes: string | null
  /** Files with the rows to insert. */
  rows: string[]
}

export interface Package {
  /** `refill`: the target is written from empty. */
  kind: 'delta' | 'refill'
  /** The watermark that the target must have; null: it has none. */
  base: TargetWatermark | null
  /** The watermark that the target has afterwards. */
  watermark: TargetWatermark
  /** All tables of a refill; the changed tables of a delta. */
  tables: PackagedTable[]
  rowCount: number
}

/**
 * Rows a COPY of a table of records, and of a child table, whose rows are smaller: some 40 MB of memory each. One COPY of all conversations
 * needs more than the memory limit.
 */
const SLICE_ROWS = { record: 5_000, child: 25_000 }

const COPY_OPTIONS = '(FORMAT parquet, COMPRESSION snappy)'

/** SQL of a table's name, which may have a schema. */
export const quotedTable = (name: string): string => name.split('.').map(quoteName).join('.')

const columnsOf = (names: readonly string[], t = ''): string => names.map(name => t + quoteName(name)).join(', ')

const valuesAs = (values: readonly string[], names: readonly string[]): string =>
  values.map((value, index) => `${value} AS ${quoteName(names[index]!)}`).join(', ')

interface Writing {
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

const sliceRows = ({ name, published }: SelectedRelation): number =>
  name === published.table ? SLICE_ROWS.record : SLICE_ROWS.child

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

const CHOSEN = 'publish_rows'

/** Ranges over the rows that satisfy `condition`, whose ids are stored in a temporary table: the condition is evaluated once, not once a slice. */
async function slicesOfSome({ reader }: Writing, relation: SelectedRelation, condition: string): Promise<Slice[]> {
  await reader.run(
    `CREATE OR REPLACE TEMP TABLE ${CHOSEN} AS SELECT t.rowid AS id FROM ${quotedTable(relation.name)} t WHERE ${condition}`,
  )
  const rows = await reader.rows<{ first: string; last: string }>(`
    SELECT min(id)::VARCHAR AS first, max(id)::VARCHAR AS last
    FROM (SELECT id, (row_number() OVER (ORDER BY id) - 1) // ${sliceRows(relation)} AS slice FROM ${CHOSEN})
    GROUP BY slice ORDER BY slice`)
  return rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) }))
}

/** Writes the rows that satisfy `condition`; null: all rows. @returns the files, and the number of rows */
async function writeRows(
  writing: Writing,
  relation: SelectedRelation,
  condition: string | null,
): Promise<{ files: string[]; count: number }> {
  const { reader, folder, signal } = writing
  const slices = await (condition === null
    ? slicesOfAll(writing, relation)
    : slicesOfSome(writing, relation, condition))
  const names = relation.columns.map(column => column.name)
  const files: string[] = []
  let count = 0
  for (const [index, { first, last }] of slices.entries()) {
    signal.throwIfAborted()
    const file = join(folder, `${relation.name}.${index}.parquet`)
    const inRange = `BETWEEN ${first} AND ${last}`
    const chosen = condition === null ? '' : `AND t.rowid IN (SELECT id FROM ${CHOSEN} WHERE id ${inRange})`
    const select = `SELECT ${valuesAs(relation.values, names)} FROM ${quotedTable(relation.name)} t WHERE t.rowid ${inRange} ${chosen}`
    const [written] = await reader.rows<{ Count: string }>(`COPY (${select}) TO ${quoteText(file)} ${COPY_OPTIONS}`)
    const rows = Number(written!.Count)
    if (rows > 0) files.push(file)
    count += rows
  }
  return { files, count }
}

const packaged = ({
  name,
  about,
  columns,
  key,
}: SelectedRelation): Omit<PackagedTable, 'isWhole' | 'deletes' | 'rows'> => ({
  name,
  about,
  columns: columns.map(({ name: column, sqlType, about: text }) => ({ name: column, sqlType, about: text })),
  key: [...key],
})

const CHANGED = 'publish_changed'

/** Deletes every changed key in the target, whether or not its row is published; inserts the rows that are. */
async function writeChanged(writing: Writing, relation: SelectedRelation) {
  const { reader, folder } = writing
  const { key, keyValues, where, name } = relation
  const deletes = join(folder, `${name}.deletes.parquet`)
  await reader.run(
    `COPY (SELECT ${valuesAs(keyValues, key)} FROM ${CHANGED} t) TO ${quoteText(deletes)} ${COPY_OPTIONS}`,
  )
  const isChanged = `(${columnsOf(key, 't.')}) IN (SELECT ${columnsOf(key)} FROM ${CHANGED})`
  const { files, count } = await writeRows(writing, relation, [isChanged, ...(where ? [where] : [])].join(' AND '))
  return { table: { ...packaged(relation), isWhole: false, deletes, rows: files }, count }
}

/** Writes all rows. */
async function writeAll(writing: Writing, relation: SelectedRelation) {
  const { files, count } = await writeRows(writing, relation, relation.where)
  return { table: { ...packaged(relation), isWhole: true, deletes: null, rows: files }, count }
}

/** A table that a refill creates and leaves empty, since a check of it fails. */
const emptyTable = (relation: SelectedRelation) => ({
  table: { ...packaged(relation), isWhole: true, deletes: null, rows: [] },
  count: 0,
})

/**
 * Writes the rows of a refill (`changes` null) or of a delta into files below `folder`. Tables in `held` are left as they are in the target;
 * those that were held back before are written whole.
 */
export async function writeTables(
  writing: Writing,
  { relations, held }: Selection,
  { changes, heldBefore }: { changes: Changes | null; heldBefore: readonly string[] },
): Promise<{ tables: PackagedTable[]; rowCount: number }> {
  const written: { table: PackagedTable; count: number }[] = []
  for (const { published } of relations.filter(({ name, published: { table } }) => name === table)) {
    const own = relations.filter(relation => relation.published.table === published.table)
    const isHeld = held.includes(published.table)
    const changed = changes?.tables.some(one => one.published.table === published.table)
    if (changes === null || (!isHeld && heldBefore.includes(published.table)))
      for (const relation of own) written.push(isHeld ? emptyTable(relation) : await writeAll(writing, relation))
    else if (changed && !isHeld) {
      await writing.reader.run(`CREATE OR REPLACE TEMP TABLE ${CHANGED} AS ${changedKeys(published, changes)}`)
      for (const relation of own)
        written.push(await (relation.hasHashedKey ? writeAll : writeChanged)(writing, relation))
    }
  }
  return { tables: written.map(({ table }) => table), rowCount: written.reduce((sum, { count }) => sum + count, 0) }
}

/** Number of rows and a checksum of their values, by table. */
export type Sums = Record<string, { rows: string; checksum: string }>

/** SQL of a table's sum over `values` of rows `t` of `from`. */
export const sumOf = (name: string, { values, from }: { values: readonly string[]; from: string }): string =>
  `SELECT ${quoteText(name)} AS name, count(*)::VARCHAR AS rows, coalesce(sum(hash(${values.join(', ')})::HUGEINT), 0)::VARCHAR AS checksum FROM ${from}`

/** The sums of what a target must contain after the package, from the same transaction as the package. Not of tables that are held back. */
export async function sumsOfSelection(
  { reader, signal }: Omit<Writing, 'folder'>,
  { relations, held }: Selection,
): Promise<Sums> {
  const sums: Sums = {}
  for (const { name, values, where, published } of relations) {
    if (held.includes(published.table)) continue
    signal.throwIfAborted()
    const from = `${quotedTable(name)} t WHERE ${where ?? 'true'}`
    const [row] = await reader.rows<{ rows: string; checksum: string }>(sumOf(name, { values, from }))
    sums[name] = { rows: row!.rows, checksum: row!.checksum }
  }
  return sums
}
