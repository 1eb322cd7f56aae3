// Consumers of the change log, and how far each has read. The log waits for the slowest consumer, up to seven days.
import { DAY } from '../../core/time.ts'
import type { Writer } from '../connection.ts'
import { beginEpoch, forgetLogging, LAST_SEQ, logRange, type Watermark } from './log-changes.ts'

/** A consumer that is absent for longer must fill its copy again. */
const MAX_AGE_MS = 7 * DAY

const WHERE = 'WHERE name = $name'

/**
 * Registers a consumer if it is not registered yet: from now on, changes are logged. Its copy must be filled once.
 * @returns the end of the log, from which entries are kept for it
 */
export const registerConsumer = (writer: Writer, name: string): Promise<Watermark> =>
  writer.transaction(async () => {
    const registered = await writer.rows<{ name: string }>('SELECT name FROM _consumers')
    if (!registered.some(consumer => consumer.name === name)) {
      // Without a consumer nothing was logged, so an earlier watermark would miss changes.
      if (registered.length === 0) await beginEpoch(writer)
      await writer.run(`INSERT INTO _consumers SELECT $name, ${LAST_SEQ}, now(), NULL`, { name })
      forgetLogging(writer)
    }
    const { epoch, seq } = await logRange(writer)
    return { epoch, seq }
  })

/** Removes a consumer. Logging ends with the last one. @returns false if it is not registered */
export const removeConsumer = (writer: Writer, name: string): Promise<boolean> =>
  writer.transaction(async () => {
    const removed = await writer.rows(`DELETE FROM _consumers ${WHERE} RETURNING 1`, { name })
    forgetLogging(writer)
    await trim(writer)
    const left = await writer.rows('SELECT 1 FROM _consumers LIMIT 1')
    if (left.length === 0) await beginEpoch(writer)
    return removed.length > 0
  })

interface Consumer {
  name: string
  /** The last entry that the consumer has applied. */
  seq: number
  /** Number of entries that it has not applied. */
  behind: number
}

/** Returns all consumers, by name. */
export const consumers = ({ rows }: Pick<Writer, 'rows'>): Promise<Consumer[]> =>
  rows(`SELECT name, seq::DOUBLE AS seq,
    (SELECT count(*) FROM _changes WHERE _changes.seq > c.seq)::DOUBLE AS behind FROM _consumers c ORDER BY name`)

/**
 * Records that a consumer's copy has reached `watermark`, and trims the log. Call it once the copy is durable.
 * @returns false, and changes nothing, if the consumer is not registered or the watermark belongs to an earlier epoch
 */
export const acknowledge = (writer: Writer, name: string, watermark: Watermark): Promise<boolean> =>
  writer.transaction(() => acknowledgeWithin(writer, name, watermark))

/** Like `acknowledge`, inside the caller's transaction. */
export async function acknowledgeWithin(writer: Writer, name: string, { epoch, seq }: Watermark): Promise<boolean> {
  const log = await logRange(writer)
  if (log.epoch !== epoch || seq > log.seq) return false
  const updated = await writer.rows(
    `UPDATE _consumers SET seq = greatest(seq, $seq), acknowledged_at = now() ${WHERE} RETURNING 1`,
    { name, seq },
  )
  await trim(writer)
  return updated.length > 0
}

/** Deletes entries that all consumers have applied, and entries older than seven days. */
export const trimChanges = (writer: Writer): Promise<void> => writer.transaction(() => trim(writer))

async function trim(writer: Writer): Promise<void> {
  const [row] = await writer.rows<{ upTo: number | null }>(
    `SELECT greatest((SELECT min(seq) FROM _consumers),
      (SELECT max(seq) FROM _changes WHERE logged_at < now() - to_milliseconds($age)))::DOUBLE AS "upTo"`,
    { age: MAX_AGE_MS },
  )
  const { upTo } = row!
  if (upTo === null) return
  // Even a statement that changes nothing makes the transaction write to the disk.
  const [any] = await writer.rows('SELECT 1 FROM _changes WHERE seq <= $upTo LIMIT 1', { upTo })
  if (!any) return
  await writer.run('DELETE FROM _changes WHERE seq <= $upTo', { upTo })
  await writer.run('UPDATE _change_log SET trimmed_to = greatest(trimmed_to, $upTo)', { upTo })
}

/** Copies the consumers into a rebuilt warehouse. Its epoch is new, so each must fill its copy again. */
export async function copyConsumers(from: Writer, to: Writer): Promise<void> {
  const rows = await from.rows<{ name: string; registered: string }>(
    'SELECT name, registered_at::VARCHAR AS registered FROM _consumers',
  )
  await to.transaction(async () => {
    for (const params of rows)
      await to.run('INSERT INTO _consumers VALUES ($name, 0, $registered::TIMESTAMPTZ, NULL)', params)
    forgetLogging(to)
  })
}
