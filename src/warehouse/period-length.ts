// How long a billing period lasts. The vendor does not tell; what is known is when the first page told of each.
import { quoteText } from '../catalog/layout.ts'
import type { Writer } from './connection.ts'

/** Periods that are over are looked at so many back. */
const LAST_PERIODS = 6

/**
 * The median length of the last periods of which beginning and end were seen, ms; null where there is none. A period that one
 * answer alone told of may have been a mistake, and of the very first nobody saw the beginning.
 */
export async function periodLengthMs(writer: Writer, workspaceId: string): Promise<number | null> {
  const [row] = await writer.rows<{ length: number | null }>(
    `WITH told AS (
       SELECT min(told_at) AS since FROM _quota WHERE workspace_id = ${quoteText(workspaceId)} AND period_key IS NOT NULL
       GROUP BY period_key HAVING count(*) > 1),
     turns AS (
       SELECT since, lead(since) OVER (ORDER BY since) AS until, lag(since) OVER (ORDER BY since) AS before FROM told)
     SELECT median(epoch_ms(until) - epoch_ms(since))::DOUBLE AS length
     FROM (FROM turns WHERE before IS NOT NULL AND until IS NOT NULL ORDER BY since DESC LIMIT ${LAST_PERIODS})`,
  )
  return row?.length ?? null
}
