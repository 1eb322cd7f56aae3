// The billing periods and keys that landed answers have reported.
import { FIRST_REPORTS, type KeyReports } from '../../core/quota/period-keys.ts'
import { INCLUDED_SESSIONS, PACK_SESSIONS } from '../../core/quota/quota.ts'
import type { ReportedPeriod } from '../../core/quota/quota-recovery.ts'
import type { Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'

const countOf = (value: string | null | undefined): number | null => (value == null ? null : Number(value))

/** What loaded pages have reported of the newest periods; the last one is that of most of the newest pages. */
export async function reportedPeriods(writer: Writer, workspaceId: string): Promise<ReportedPeriod[]> {
  const params = { workspace: workspaceId, included: INCLUDED_SESSIONS, pack: PACK_SESSIONS }
  const rows = await writer.rows<Record<string, string | null>>(sqlFile('planning/reported_periods'), params)
  return rows.map(row => ({
    key: row.period_key!,
    reports: Number(row.reports),
    usedSessions: Number(row.used),
    ownSessions: Number(row.own),
    certainSessions: Number(row.certain),
    includedSessions: countOf(row.included),
    overageSessions: Number(row.overage),
    overagePacks: Number(row.packs),
    sinceMs: Number(row.since),
    reportedAtMs: Number(row.reported_at),
  }))
}

/** When `periodKey` was first reported, ms; null if it never was. */
export async function periodSinceMs(
  writer: Writer,
  workspaceId: string,
  periodKey: string | null,
): Promise<number | null> {
  if (periodKey === null) return null
  const [row] = await writer.rows<{ since: string | null }>(
    'SELECT epoch_ms(min(reported_at))::VARCHAR AS since FROM _quota WHERE workspace_id = $workspace AND period_key = $key',
    { workspace: workspaceId, key: periodKey },
  )
  return countOf(row?.since)
}

/** Reports by key, oldest first, without keys that only one answer has reported: that may have been a mistake. */
export async function keysReported(reader: Pick<Writer, 'rows'>, workspaceId: string): Promise<KeyReports[]> {
  const rows = await reader.rows<Record<'key' | 'since' | 'until' | 'most' | 'carried' | 'behind', string | null>>(
    sqlFile('planning/reported_keys'),
    { workspace: workspaceId, first_reports: FIRST_REPORTS },
  )
  return rows.map(row => ({
    key: row.key!,
    sinceMs: Number(row.since),
    untilMs: Number(row.until),
    mostUsed: countOf(row.most),
    carried: countOf(row.carried),
    behind: Math.max(0, Number(row.behind ?? 0)),
  }))
}
