// The record of publications: the ids that this warehouse has issued, and how the last publication to each target ended.
import { DAY } from '../../core/time.ts'
import { iso, type Writer } from '../connection.ts'
import type { Watermark } from './log-changes.ts'

/** Returns the name of a target among the consumers of the change log. */
export const consumerOf = (target: string): string => `${CONSUMER_PREFIX}${target}`

export const CONSUMER_PREFIX = 'target/'

interface IssuedPublication {
  id: string
  target: string
  kind: 'delta' | 'refill'
  reason: string | null
  to: Watermark
  startedMs: number
}

/** Records a publication before its target can contain it. A target with an unrecorded id was written by another warehouse. */
export const issuePublication = (writer: Writer, publication: IssuedPublication): Promise<void> =>
  writer.transaction(async () => {
    const { id, target, kind, reason, to, startedMs } = publication
    await writer.run(
      `INSERT INTO _publications (id, target, kind, reason, epoch, seq, started_at)
       VALUES ($id, $target, $kind, $reason, $epoch, $seq, $started::TIMESTAMPTZ)`,
      { id, target, kind, reason, epoch: to.epoch, seq: to.seq, started: iso(startedMs) },
    )
  })

/** True if this warehouse issued the publication with that id. */
export const isIssued = async (reader: Pick<Writer, 'rows'>, id: string): Promise<boolean> =>
  (await reader.rows('SELECT 1 FROM _publications WHERE id = $id', { id })).length > 0

/** The change log keeps seven days, so older publications start before its beginning. */
const KEPT_MS = 8 * DAY

interface PublicationEnd {
  id: string
  target: string
  endedMs: number
  rowCount: number | null
  error: { code: string; what: string; hint: string | null } | null
  /** Tables that the target cannot hold, and why. */
  unfit?: string | null
}

/** Records how a publication ended, and deletes the target's publications older than eight days, except the last successful one. */
export const endPublication = (
  writer: Writer,
  { id, target, endedMs, rowCount, error, unfit = null }: PublicationEnd,
): Promise<void> =>
  writer.transaction(async () => {
    await writer.run(
      `UPDATE _publications SET ended_at = $ended::TIMESTAMPTZ, row_count = $rows, error_code = $code, error = $error, hint = $hint
       WHERE id = $id`,
      {
        id,
        ended: iso(endedMs),
        rows: rowCount,
        code: error?.code ?? null,
        error: error?.what ?? null,
        hint: error ? error.hint : unfit,
      },
    )
    const last = `SELECT arg_max(id, ended_at) FROM _publications WHERE target = $target AND ended_at IS NOT NULL AND error IS NULL`
    const old = `target = $target AND started_at < $before::TIMESTAMPTZ AND id IS DISTINCT FROM (${last})`
    const params = { target, before: iso(endedMs - KEPT_MS) }
    const [any] = await writer.rows(`SELECT 1 FROM _publications WHERE ${old} LIMIT 1`, params)
    if (any) await writer.run(`DELETE FROM _publications WHERE ${old}`, params)
  })

/**
 * Records success for a publication that its target turns out to contain: its process was killed, or the answer to the
 * commit was lost. A recorded difference stays until the target is written again.
 */
export async function confirmPublication(
  writer: Writer,
  publication: Pick<PublicationEnd, 'id' | 'target' | 'endedMs'>,
): Promise<void> {
  const unconfirmed = `SELECT 1 FROM _publications
    WHERE id = $id AND (ended_at IS NULL OR (error IS NOT NULL AND error_code <> 'PUBLICATION_DIFFERS'))`
  if ((await writer.rows(unconfirmed, { id: publication.id })).length === 0) return
  await endPublication(writer, { ...publication, rowCount: null, error: null })
}

/** Returns when the last publication to each target began, whether or not it succeeded. */
export async function lastPublications(reader: Pick<Writer, 'rows'>): Promise<Map<string, number>> {
  const rows = await reader.rows<{ target: string; startedMs: number }>(
    `SELECT target, epoch_ms(max(started_at))::DOUBLE AS "startedMs" FROM _publications GROUP BY target`,
  )
  return new Map(rows.map(({ target, startedMs }) => [target, startedMs]))
}
