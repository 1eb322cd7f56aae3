// The billing periods and keys that landed answers have reported.
import { FIRST_REPORTS, type KeyReports } from '../../core/quota/period-keys.ts'
import { INCLUDED_SESSIONS, PACK_SESSIONS } from '../../core/quota/quota.ts'
import type { ReportedPeriod } from '../../core/quota/quota-recovery.ts'
import type { Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'

/** What loaded pages have reported of the newest periods; the last one is that of most of the newest pages. */
export const reportedPeriods = (writer: Writer, workspaceId: string): Promise<ReportedPeriod[]> =>
  writer.rows(sqlFile('planning/reported_periods'), {
    workspace: workspaceId,
    included: INCLUDED_SESSIONS,
    pack: PACK_SESSIONS,
  })

/** When `periodKey` was first reported, ms; null if it never was. */
export async function periodSinceMs(
  writer: Writer,
  workspaceId: string,
  periodKey: string | null,
): Promise<number | null> {
  if (periodKey === null) return null
  const [row] = await writer.rows<{ since: number | null }>(
    'SELECT epoch_ms(min(reported_at))::DOUBLE AS since FROM _quota WHERE workspace_id = $workspace AND period_key = $key',
    { workspace: workspaceId, key: periodKey },
  )
  return row!.since
}

/** Reports by key, oldest first, without keys that only one answer has reported: that may have been a mistake. */
export const keysReported = ({ rows }: Pick<Writer, 'rows'>, workspaceId: string): Promise<KeyReports[]> =>
  rows(sqlFile('planning/reported_keys'), { workspace: workspaceId, first_reports: FIRST_REPORTS })
