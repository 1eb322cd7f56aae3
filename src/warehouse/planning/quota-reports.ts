// What the landed answers have reported under each key of a billing period (`core/period-keys.ts`).
import { quoteText } from '../../catalog/layout.ts'
import { FIRST_REPORTS, type KeyReports } from '../../core/period-keys.ts'
import type { Writer } from '../connection.ts'

/** Answers that are looked at: the last six periods of a month. */
const KEYS_WITHIN = 'INTERVAL 200 DAY'

/**
 * Reports by key, those apart that one answer alone has told of: that may have been a mistake. A request whose answer had come before
 * another was sent should be in what that one reports; one that was sent before the answer came may be.
 */
export async function keysReported(writer: Pick<Writer, 'rows'>, workspaceId: string): Promise<KeyReports[]> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const rows = await writer.rows<Record<'key' | 'since' | 'until' | 'most' | 'carried' | 'behind', string | null>>(`
    WITH told AS (
      SELECT period_key, told_at, coalesce(used_sessions, included_sessions - remaining_sessions) AS used,
        min(told_at) OVER keyed AS since, row_number() OVER (keyed ORDER BY told_at) AS number
      FROM _quota WHERE ${here} AND period_key IS NOT NULL
        AND told_at >= (SELECT max(told_at) FROM _quota WHERE ${here}) - ${KEYS_WITHIN}
      WINDOW keyed AS (PARTITION BY period_key)),
    keys AS (
      SELECT period_key, min(told_at) AS since, max(told_at) AS until, max(used) AS most FROM told GROUP BY period_key HAVING count(*) > 1),
    made AS (
      SELECT sent_at, sent_at + to_milliseconds(coalesce(duration_ms, 0)) AS came_at, coalesce(billed_sessions, 0) AS billed
      FROM _requests WHERE ${here} AND sent_at >= (SELECT min(told_at) FROM told)),
    sent AS (SELECT sent_at, came_at, billed AS alone, sum(billed) OVER (ORDER BY sent_at) AS billed FROM made),
    came AS (SELECT came_at, sum(billed) OVER (ORDER BY came_at) AS billed FROM made),
    first AS (
      SELECT t.*, coalesce(own.came_at, t.told_at) AS came_at, coalesce(own.alone, 0) AS alone
      FROM told t ASOF LEFT JOIN sent own ON t.told_at >= own.sent_at
      WHERE t.number <= ${FIRST_REPORTS} AND t.used IS NOT NULL),
    counted AS (
      SELECT f.period_key, f.told_at, f.used - (coalesce(begun.billed, 0) - coalesce(earlier.billed, 0)) AS least,
        f.used - (coalesce(ended.billed, 0) - coalesce(earlier.billed, 0)) - if(f.came_at > f.told_at, f.alone, 0) AS most
      FROM first f ASOF LEFT JOIN sent begun ON f.came_at >= begun.sent_at
        ASOF LEFT JOIN came ended ON f.told_at >= ended.came_at
        ASOF LEFT JOIN sent earlier ON f.since > earlier.sent_at),
    carried AS (
      SELECT *, max(least) OVER (PARTITION BY period_key ORDER BY told_at) - most AS lacks FROM counted)
    SELECT k.period_key AS key, epoch_ms(k.since)::VARCHAR AS since, epoch_ms(k.until)::VARCHAR AS until, k.most::VARCHAR AS most,
      max(c.most)::VARCHAR AS carried, median(greatest(0, c.lacks))::VARCHAR AS behind
    FROM keys k LEFT JOIN carried c USING (period_key) GROUP BY k.period_key, k.since, k.until, k.most ORDER BY k.since`)
  const count = (value: string | null) => (value === null ? null : Number(value))
  return rows.map(row => ({
    key: row.key!,
    sinceMs: Number(row.since),
    untilMs: Number(row.until),
    mostUsed: count(row.most),
    carried: count(row.carried),
    behind: Math.max(0, Number(row.behind ?? 0)),
  }))
}
