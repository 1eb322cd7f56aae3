// Reads the change log for a consumer. All reads of one publication must run in one transaction of one connection, so
// that keys and rows belong to the same state.
import { quoteName, quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import { MODELS_SCHEMA } from '../models/declaration.ts'
import { builtModels, publishedModel } from '../models/stored-models.ts'
import { logRange, type Watermark } from './log-changes.ts'
import { type PublishedTable, publishedTable } from './published-tables.ts'

type Reader = Pick<Writer, 'rows'>

/** Reasons for filling a copy again. */
export type RefillReason =
  /** The consumer is not registered, so nothing is kept for it. */
  | 'unknown consumer'
  /** The copy has no watermark: it is new. */
  | 'no watermark'
  /** The copy's epoch has ended. */
  | 'other epoch'
  /** Entries that the copy needs are deleted. */
  | 'trimmed'
  /** The copy is ahead of the log, so the warehouse was restored from an older state. */
  | 'ahead of the log'

export interface ChangedTable {
  published: PublishedTable
  entries: number
}

/** A copy must apply the changed keys of `tables` (`changedKeys`), after which its watermark is `to`. */
export interface Changes {
  kind: 'changes'
  from: Watermark
  to: Watermark
  tables: ChangedTable[]
}

/** The copy must be filled with all rows, after which its watermark is `to`. */
export interface Refill {
  kind: 'refill'
  reason: RefillReason
  to: Watermark
}

/** Returns the changes that the consumer's copy must apply after `watermark`. */
export async function changesSince(
  reader: Reader,
  { name, watermark }: { name: string; watermark: Watermark | null },
): Promise<Changes | Refill> {
  const { trimmedTo, ...end } = await logRange(reader)
  const refill = (reason: RefillReason): Refill => ({ kind: 'refill', reason, to: end })
  const [consumer] = await reader.rows('SELECT 1 FROM _consumers WHERE name = $name', { name })
  if (!consumer) return refill('unknown consumer')
  if (watermark === null) return refill('no watermark')
  if (watermark.epoch !== end.epoch) return refill('other epoch')
  if (watermark.seq < trimmedTo) return refill('trimmed')
  if (watermark.seq > end.seq) return refill('ahead of the log')
  const range = { after: watermark.seq, upTo: end.seq }
  return { kind: 'changes', from: watermark, to: end, tables: await changedTables(reader, range) }
}

interface Range {
  after: number
  upTo: number
}

const inRange = ({ after, upTo }: Range): string => `seq > ${after} AND seq <= ${upTo}`

async function changedTables(reader: Reader, range: Range): Promise<ChangedTable[]> {
  const rows = await reader.rows<{ name: string; n: string }>(
    `SELECT table_name AS name, count(*)::VARCHAR AS n FROM _changes WHERE ${inRange(range)} GROUP BY ALL ORDER BY ALL`,
  )
  const isOfModels = rows.some(({ name }) => name.startsWith(`${MODELS_SCHEMA}.`))
  const models = isOfModels ? (await builtModels(reader)).map(publishedModel) : []
  return rows.flatMap(({ name, n }) => {
    // The log may contain entries of models that no longer exist.
    const published = publishedTable(name) ?? models.find(({ table }) => table === name)
    return published ? [{ published, entries: Number(n) }] : []
  })
}

type Span = Pick<Changes, 'from' | 'to'>

const entriesOf = ({ table }: PublishedTable, { from, to }: Span): string =>
  `FROM _changes WHERE table_name = ${quoteText(table)} AND ${inRange({ after: from.seq, upTo: to.seq })}`

const keyColumns = ({ key }: PublishedTable): string =>
  key.map(({ name, sqlType }, index) => `key[${index + 1}]::${sqlType} AS ${quoteName(name)}`).join(', ')

/** Returns a SELECT of the changed keys as the table's key columns, each key once. */
export const changedKeys = (published: PublishedTable, span: Span): string =>
  `SELECT DISTINCT ${keyColumns(published)} ${entriesOf(published, span)}`

/**
 * Returns a SELECT of the key columns and `partition_before`, the rows' partitions before the change; NULL for rows
 * without a time. Entries of new rows are omitted, since these had no partition.
 */
export const earlierPartitions = (published: PublishedTable, span: Span): string =>
  `SELECT DISTINCT ${keyColumns(published)}, partition_before ${entriesOf(published, span)} AND (partition_before IS NOT NULL OR op <> 'insert')`
