// Epochs of the change log. Within an epoch the log has every change since `trimmed_to`; after one begins, every copy must be filled again.
import type { Writer } from '../connection.ts'

/** A position in the change log: the entries of `epoch` up to `seq`. A consumer stores it with its copy. */
export interface Watermark {
  epoch: string
  seq: number
}

/** The present end of the change log, and the entry up to which it is trimmed. */
export interface LogRange extends Watermark {
  trimmedTo: number
}

/** SQL of the newest entry's `seq`, which also counts entries that are deleted. */
export const LAST_SEQ =
  '(SELECT greatest((SELECT coalesce(max(seq), 0) FROM _changes), (SELECT trimmed_to FROM _change_log)))'

export async function logRange(reader: Pick<Writer, 'rows'>): Promise<LogRange> {
  const [range] = await reader.rows<LogRange>(
    `SELECT epoch, trimmed_to::DOUBLE AS "trimmedTo", ${LAST_SEQ}::DOUBLE AS seq FROM _change_log`,
  )
  return range!
}

/**
 * Begins a new epoch, inside the caller's transaction: after changes of so many rows that logging them costs more than filling copies
 * again, or of columns.
 */
export async function beginEpoch(writer: Writer): Promise<void> {
  await writer.run('DELETE FROM _changes')
  await writer.run('UPDATE _change_log SET epoch = uuid()::VARCHAR, begun_at = now(), trimmed_to = 0')
  // Whatever a consumer has acknowledged belongs to an earlier epoch. The log is kept for it while it refills.
  await writer.run('UPDATE _consumers SET seq = 0')
}
