// Appends to the change log (`_changes`), in the transaction that changes the rows and before the change, so that an entry
// has the row's former partition. A superfluous entry only costs work; a missing entry leaves a copy wrong.
//
// Within an epoch the log has every change since `trimmed_to`. When a new epoch begins, every copy must be filled again.
import { quoteName, quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import { keyList, type PublishedTable, partitionOf, publishedTable, sameKeys } from './published-tables.ts'

/** A position in the change log: the entries of `epoch` up to `seq`. A consumer stores it with its copy. */
export interface Watermark {
  epoch: string
  seq: number
}

/** The current end of the change log, and the entry up to which it is trimmed. */
export interface LogRange extends Watermark {
  trimmedTo: number
}

/** SQL of the newest entry's `seq`, including deleted entries. */
export const LAST_SEQ =
  '(SELECT greatest((SELECT coalesce(max(seq), 0) FROM _changes), (SELECT trimmed_to FROM _change_log)))'

export async function logRange(reader: Pick<Writer, 'rows'>): Promise<LogRange> {
  const [range] = await reader.rows<LogRange>(
    `SELECT epoch, trimmed_to::DOUBLE AS "trimmedTo", ${LAST_SEQ}::DOUBLE AS seq FROM _change_log`,
  )
  return range!
}

/**
 * Begins a new epoch, inside the caller's transaction: after columns have changed, or if logging the changed rows would
 * cost more than filling copies again.
 */
export async function beginEpoch(writer: Writer): Promise<void> {
  await writer.run('DELETE FROM _changes')
  await writer.run('UPDATE _change_log SET epoch = uuid()::VARCHAR, begun_at = now(), trimmed_to = 0')
  // Acknowledged positions belong to the earlier epoch. The log is kept for each consumer while it refills.
  await writer.run('UPDATE _consumers SET seq = 0')
}

/** True for writers that log changes because there is a consumer. */
const logging = new WeakMap<Writer, boolean>()

/** Forgets whether `writer` logs changes, after its transaction added or removed a consumer. */
export const forgetLogging = (writer: Writer): boolean => logging.delete(writer)

/** True if the transactions of `writer` must be logged. Must be called inside a transaction. */
export async function isLogging(writer: Writer): Promise<boolean> {
  const known = logging.get(writer)
  if (known !== undefined) return known
  const found = await writer.rows('SELECT 1 FROM _consumers LIMIT 1')
  logging.set(writer, found.length > 0)
  return found.length > 0
}

export interface LoggedChange {
  /** Name of a published table. */
  table: string
  /** SELECT of the key columns. */
  keys: string
  /** True if no row has one of these keys, so that they need not be looked up. */
  areNew?: boolean
}

/** Returns the SELECT of the entries (table_name, key, partition_before, op) of a change. */
const entriesOf = (published: PublishedTable, { keys, areNew }: Omit<LoggedChange, 'table'>): string =>
  areNew
    ? `SELECT ${quoteText(published.table)} AS table_name, ${keyList(published, 'k')} AS key, NULL::DATE AS partition_before, 'insert' AS op FROM (${keys}) k`
    : `SELECT ${quoteText(published.table)} AS table_name, ${keyList(published, 'k')} AS key, ${partitionOf(published, 't')} AS partition_before,
        CASE WHEN t.${quoteName(published.key[0]!.name)} IS NULL THEN 'insert' ELSE 'update' END AS op
      FROM (${keys}) k LEFT JOIN ${published.table} t ON ${sameKeys(published, 'k', 't')}`

/**
 * Logs that the caller's transaction is about to insert, replace or update the rows of these keys and their child rows.
 * Does nothing without a consumer.
 */
export const logChanges = (writer: Writer, change: LoggedChange): Promise<void> =>
  logChangesOf(writer, publishedTable(change.table)!, change)

/** Like `logChanges`, for a table that is declared elsewhere. */
export async function logChangesOf(
  writer: Writer,
  published: PublishedTable,
  change: Omit<LoggedChange, 'table'>,
): Promise<void> {
  if (!(await isLogging(writer))) return
  await appendEntries(writer, entriesOf(published, change))
}

/** Appends the rows of `select` (table_name, key, partition_before, op) to the log. */
export const appendEntries = (writer: Writer, select: string): Promise<void> =>
  writer.run(`INSERT INTO _changes (seq, logged_at, table_name, key, partition_before, op)
    SELECT ${LAST_SEQ} + row_number() OVER (), now(), table_name, key, partition_before, op FROM (${select})`)
