// `GET /v1/quota`: how the sessions of each workspace's running billing period were used, by day, as the vendor reports it.
import { z } from '@hono/zod-openapi'
import { PERIOD_DAYS } from '../../core/planning/estimate.ts'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import { hasMart, martRows } from '../tables.ts'
import type { Routes } from './app.ts'
import { snapshotRoute } from './snapshot-route.ts'

const used = z
  .object({
    day: z.iso.date().openapi({ description: 'Local day with at least one report' }),
    usedSessions: z.number().openapi({ description: 'Used in the period by the end of the day’s reports' }),
    historySessions: z.number().openapi({
      description:
        'Billed by reading history since the report before, which is read once and says nothing about later days',
    }),
  })
  .openapi('QuotaDay')

const quota = z
  .object({
    workspace: z.string(),
    period: z.string().openapi({ description: 'Billing period, as the vendor names it' }),
    includedSessions: z.number(),
    overageSessions: z.number(),
    overagePacks: z.number(),
    ends: z.iso.date().openapi({
      description: `${PERIOD_DAYS} days after the first report, since the vendor does not say when a period ends`,
    }),
    days: z.array(used),
  })
  .openapi('Quota')

export type WorkspaceQuota = z.infer<typeof quota>

const ROUTE = {
  path: '/v1/quota',
  summary: 'Show the use of the quota in the running billing period, by day',
  scopes: ['metrics'],
  in: 'query',
  given: z.object({}),
  answer: { workspaces: z.array(quota) },
} as const

const HISTORY = `SELECT workspace_id, day, billed_sessions AS sessions FROM marts.sessions_daily WHERE kind IN ('tail', 'full')`
const NO_HISTORY = `SELECT '' AS workspace_id, DATE '1970-01-01' AS day, 0 AS sessions`

const quotaSql = (history: string): string => `
  WITH running AS (
    SELECT workspace_id, arg_max(period_key, (last_day, first_day)) AS period_key
    FROM (SELECT workspace_id, period_key, max(day) AS last_day, min(day) AS first_day FROM marts.quota_daily GROUP BY ALL) GROUP BY workspace_id
  ),
  reported AS (
    SELECT *, lag(day) OVER (PARTITION BY workspace_id ORDER BY day) AS day_before
    FROM marts.quota_daily SEMI JOIN running USING (workspace_id, period_key)
  ),
  days AS (
    SELECT r.*, (SELECT coalesce(sum(h.sessions), 0) FROM (${history}) h
      WHERE h.workspace_id = r.workspace_id AND h.day <= r.day AND h.day > coalesce(r.day_before, r.day - 1))::BIGINT AS history
    FROM reported r
  )
  SELECT workspace_id AS workspace, any_value(period_key) AS period, arg_max(coalesce(included_sessions, 0), day) AS "includedSessions",
    arg_max(coalesce(overage_sessions, 0), day) AS "overageSessions", arg_max(coalesce(overage_packs, 0), day) AS "overagePacks",
    greatest(min(day) + ${PERIOD_DAYS}, max(day) + 1)::DATE::VARCHAR AS ends,
    list({day: day::VARCHAR, "usedSessions": used_sessions, "historySessions": history} ORDER BY day) AS days
  FROM days GROUP BY workspace_id ORDER BY workspace_id`

export const quotaRoute = (readers: SnapshotReaders): Routes =>
  snapshotRoute(readers, ROUTE, () =>
    readers.reading(async (query, state) => {
      const history = (await hasMart(query, 'sessions_daily')) ? HISTORY : NO_HISTORY
      return { workspaces: await martRows(query, 'quota_daily', quotaSql(history)), ...state }
    }),
  )
