// The record of publications: which ids this warehouse has issued, and how the last publication to each target ended.
import { DAY } from '../../core/time.ts'
import { iso, type Writer } from '../connection.ts'
import type { Watermark } from './epoch.ts'

/** The name of a target among the consumers of the change log. */
export const consumerOf = (target: string): string => `${CONSUMER_PREFIX}${target}`

export const CONSUMER_PREFIX = 'target/'

interface IssuedPublication {
  id: string
  target: string
  kind: 'delta' | 'refill'
  reason: string | null
  to: Watermark
  startedMs: number
  /** Tables of records that the target lacks afterwards, and those of them that have no rows in it. */
  lack: { held: readonly string[]; empty: readonly string[] }
}

/** Records a publication before its target can contain it: a target whose id is not recorded was written by another warehouse. */
export const issuePublication = (writer: Writer, publication: IssuedPublication): Promise<void> =>
  writer.transaction(async () => {
    const { id, target, kind, reason, to, startedMs, lack } = publication
    const [held, empty] = [JSON.stringify(lack.held), JSON.stringify(lack.empty)]
    await writer.run(
      `INSERT INTO _publications (id, target, kind, reason, epoch, seq, started_at, held, held_empty)
       VALUES ($id, $target, $kind, $reason, $epoch, $seq, $started::TIMESTAMP, $held::JSON::VARCHAR[], $empty::JSON::VARCHAR[])`,
      { id, target, kind, reason, epoch: to.epoch, seq: to.seq, started: iso(startedMs), held, empty },
    )
  })

/** True if this warehouse issued the publication with that id. */
export const isIssued = async (reader: Pick<Writer, 'rows'>, id: string): Promise<boolean> =>
  (await reader.rows('SELECT 1 FROM _publications WHERE id = $id', { id })).length > 0

/** The tables that have no rows in a target since the publication with that id, because checks fail that block them. */
export async function emptyTablesAfter(reader: Pick<Writer, 'rows'>, id: string): Promise<string[]> {
  const [row] = await reader.rows<{ empty: string[] | null }>(
    'SELECT held_empty AS empty FROM _publications WHERE id = $id',
    { id },
  )
  return row?.empty ?? []
}

/** Older publications are behind the beginning of the change log, which keeps seven days. */
const KEPT_MS = 8 * DAY

interface PublicationEnd {
  id: string
  target: string
  endedMs: number
  rowCount: number | null
  error: { code: string; what: string; hint: string | null } | null
}

/** Records how a publication ended, and forgets the target's publications of more than eight days ago, except the last successful one. */
export const endPublication = (
  writer: Writer,
  { id, target, endedMs, rowCount, error }: PublicationEnd,
): Promise<void> =>
  writer.transaction(async () => {
    await writer.run(
      `UPDATE _publications SET ended_at = $ended::TIMESTAMP, row_count = $rows, error_code = $code, error = $error, hint = $hint
       WHERE id = $id`,
      {
        id,
        ended: iso(endedMs),
        rows: rowCount,
        code: error?.code ?? null,
        error: error?.what ?? null,
        hint: error?.hint ?? null,
      },
    )
    const last = `SELECT arg_max(id, ended_at) FROM _publications WHERE target = $target AND ended_at IS NOT NULL AND error IS NULL`
    const old = `target = $target AND started_at < $before::TIMESTAMP AND id IS DISTINCT FROM (${last})`
    const params = { target, before: iso(endedMs - KEPT_MS) }
    const [any] = await writer.rows(`SELECT 1 FROM _publications WHERE ${old} LIMIT 1`, params)
    if (any) await writer.run(`DELETE FROM _publications WHERE ${old}`, params)
  })

/**
 * Records that a publication has ended well whose target has turned out to contain it: its process was killed before it could, or the
 * answer to the commit was lost. That of a difference stays, which only another writing of the target ends.
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

interface LastPublications {
  /** When the last one began, whether or not it succeeded. */
  startedMs: number
  /** What the target lacks since the last successful one. */
  held: readonly string[]
}

/** The last publications to each target. */
export async function lastPublications(reader: Pick<Writer, 'rows'>): Promise<Map<string, LastPublications>> {
  const rows = await reader.rows<LastPublications & { target: string }>(`
    SELECT target, epoch_ms(max(started_at))::DOUBLE AS "startedMs",
      coalesce(arg_max(held, ended_at) FILTER (WHERE ended_at IS NOT NULL AND error IS NULL), []) AS held
    FROM _publications GROUP BY target`)
  return new Map(rows.map(({ target, ...last }) => [target, last]))
}
