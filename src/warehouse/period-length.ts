// How long a billing period lasts. The vendor does not tell; what is known is when the first page told of each.
import { quoteText } from '../catalog/layout.ts'
import type { Writer } from './connection.ts'

/**
 * Periods by the keys that name them. A key may be that of a day though the period goes on: where what is used does not begin anew with
 * the next key, both name one period, unless the one before had lasted as long as a period does. What one answer alone told of may have
 * been a mistake.
 */
const periodsOf = (workspaceId: string): string => `
  keys AS (
    SELECT period_key, min(told_at) AS since, arg_min(used_sessions, told_at) AS first_used, max(used_sessions) AS most_used
    FROM _quota WHERE workspace_id = ${quoteText(workspaceId)} AND period_key IS NOT NULL GROUP BY period_key HAVING count(*) > 1),
  begun AS (
    SELECT *, coalesce(first_used < lag(most_used) OVER moments OR since - lag(since) OVER moments > INTERVAL 8 DAY, true) AS begins
    FROM keys WINDOW moments AS (ORDER BY since, period_key)),
  numbered AS (SELECT *, sum(begins::INTEGER) OVER (ORDER BY since, period_key ROWS UNBOUNDED PRECEDING) AS number FROM begun),
  periods AS (SELECT min(since) AS since, list(period_key) AS keys FROM numbered GROUP BY number)`

/** When the period of that key was first told of, ms; null where none was. */
export async function periodSinceMs(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  periodKey: string | null,
): Promise<number | null> {
  if (periodKey === null) return null
  const [row] = await writer.rows<{ since: string | null }>(
    `WITH ${periodsOf(workspaceId)}
     SELECT epoch_ms(coalesce(
       (SELECT min(since) FROM periods WHERE list_contains(keys, ${quoteText(periodKey)})),
       (SELECT min(told_at) FROM _quota WHERE workspace_id = ${quoteText(workspaceId)} AND period_key = ${quoteText(periodKey)})))::VARCHAR AS since`,
  )
  return row?.since == null ? null : Number(row.since)
}

/** Periods that are over are looked at so many back. */
const LAST_PERIODS = 6

/**
 * The median length of the last periods of which beginning and end were seen, ms; null where there is none. Of the very first nobody
 * saw the beginning.
 */
export async function periodLengthMs(writer: Pick<Writer, 'rows'>, workspaceId: string): Promise<number | null> {
  const [row] = await writer.rows<{ length: number | null }>(
    `WITH ${periodsOf(workspaceId)},
     turns AS (
       SELECT since, lead(since) OVER (ORDER BY since) AS until, lag(since) OVER (ORDER BY since) AS before FROM periods)
     SELECT median(epoch_ms(until) - epoch_ms(since))::DOUBLE AS length
     FROM (FROM turns WHERE before IS NOT NULL AND until IS NOT NULL ORDER BY since DESC LIMIT ${LAST_PERIODS})`,
  )
  return row?.length ?? null
}
