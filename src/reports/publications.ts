// The state of each configured target: when it was last published to, what it lacks, and why publications fail.
import { access } from 'node:fs/promises'
import { quoteText } from '../catalog/layout.ts'
import { filesOf, placeOf, type TargetConfig } from '../config/targets.ts'
import { SECOND } from '../core/time.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFile } from '../warehouse/sql-files.ts'

export interface TargetStatus {
  target: string
  type: TargetConfig['type']
  /** Path of the file or folder, or the database; for a lake, its catalog. */
  place: string
  /** Time when the rows of the last publication were read: the target is as fresh as the warehouse was then. Null for never. */
  asOf: string | null
  /** Number of changed records that the target lacks; null if it must be written from empty. */
  behind: number | null
  /** True if rows have been published, and the file or folder no longer exists. */
  isGone: boolean
  /** Ids of `rows` and `pii` that select nothing: unknown, gone, or an organization without agents. */
  selectingNone: readonly string[]
  /** Time for which the oldest of them has waited; 0 if the target has every change; time since the first sync if it was never published to. Null without a sync. */
  lagSeconds: number | null
  /** Tables that the target cannot hold, and why; null for none. */
  unfit: string | null
  /** The last successful publication. */
  last: { endedAt: string; kind: 'delta' | 'refill'; rows: number; durationMs: number } | null
  /** The last publication, if it failed; `attempts`: failures since the last success. */
  failure: { at: string; since: string; attempts: number; code: string; what: string; hint: string | null } | null
}

interface TargetRow {
  target: string
  asOf: string | null
  succeededAt: string | null
  kind: 'delta' | 'refill' | null
  rows: number | null
  durationMs: number | null
  behind: number | null
  lackingSince: string | null
  unfit: string | null
  attempts: number | null
  failingSince: string | null
  failedAt: string | null
  code: string | null
  what: string | null
  hint: string | null
}

const idList = (ids: readonly string[]): string => `unnest([${ids.map(quoteText).join(', ')}]::VARCHAR[]) AS id`

/** Returns the ids of `rows` and `pii` that select nothing, which are probably mistyped. */
export async function idsSelectingNone(rows: Rows | null, { rows: filter, pii }: TargetConfig): Promise<string[]> {
  const workspaces = [...new Set([...(filter?.workspaces ?? []), ...Object.keys(pii.workspaces ?? {})])]
  if (rows === null || (filter === null && workspaces.length === 0)) return []
  const within = filter?.workspaces
    ? `list_contains([${filter.workspaces.map(quoteText)}]::VARCHAR[], workspace_id)`
    : 'true'
  const found = await rows<{ id: string }>(`
    FROM (SELECT ${idList(workspaces)}) ANTI JOIN (SELECT workspace_id FROM _workspaces UNION SELECT workspace_id FROM marts.dim_agents) ON workspace_id = id
    UNION ALL
    FROM (SELECT ${idList(filter?.agents ?? [])}) ANTI JOIN (FROM marts.dim_agents WHERE ${within}) ON agent_id = id
    UNION ALL
    FROM (SELECT ${idList(filter?.organizations ?? [])}) ANTI JOIN (
      FROM organization_agents JOIN organizations USING (workspace_id, organization_id)
      WHERE _missing_since IS NULL AND _deleted_at IS NULL AND ${within}
    ) ON organization_id = id`)
  return found.map(({ id }) => id)
}

/** Names the ids that select nothing; null if there are none. */
export const filterText = ({ selectingNone }: Pick<TargetStatus, 'selectingNone'>): string | null =>
  selectingNone.length === 0 ? null : `nothing is selected by ${selectingNone.map(id => JSON.stringify(id)).join(', ')}`

const FIRST_SYNC = 'SELECT min(ended_at) AS at FROM _runs WHERE success'

const UNKNOWN = {
  ...{ asOf: null, behind: null, isGone: false },
  ...{ lagSeconds: null, unfit: null, last: null, failure: null },
}

function lagOf({ behind, lackingSince }: Pick<TargetRow, 'behind' | 'lackingSince'>, nowMs: number): number | null {
  if (lackingSince === null) return behind === null ? null : 0
  return Math.max(0, (nowMs - Date.parse(lackingSince)) / SECOND)
}

/** True if a file of the target is missing. A file without read permission is not gone; servers are not checked. */
async function lacksFiles(target: TargetConfig): Promise<boolean> {
  const areMissing = await Promise.all(
    filesOf(target).map(path =>
      access(path).then(
        () => false,
        error => ['ENOENT', 'ENOTDIR'].includes(error.code),
      ),
    ),
  )
  return areMissing.includes(true)
}

/** Facts about a target that do not depend on its publications. */
type Own = 'target' | 'type' | 'place' | 'isGone' | 'selectingNone'

function stateOf(row: TargetRow, nowMs: number): Omit<TargetStatus, Own> {
  const { asOf, behind, succeededAt, kind, rows, durationMs, attempts, failingSince, failedAt, code, what, hint } = row
  return {
    asOf,
    behind,
    unfit: row.unfit,
    lagSeconds: lagOf(row, nowMs),
    last: succeededAt === null ? null : { endedAt: succeededAt, kind: kind!, rows: rows ?? 0, durationMs: durationMs! },
    failure:
      attempts === null ? null : { at: failedAt!, since: failingSince!, attempts, code: code!, what: what!, hint },
  }
}

/** Returns the state of each target; `rows` is null without a warehouse. */
export async function targetStatuses(
  rows: Rows | null,
  targets: readonly TargetConfig[],
  nowMs: number,
): Promise<TargetStatus[]> {
  if (targets.length === 0) return []
  const known = rows === null ? [] : await rows<TargetRow>(sqlFile('reports/targets'))
  const [synced] = rows === null ? [] : await rows<{ at: string | null }>(FIRST_SYNC)
  return Promise.all(
    targets.map(async target => {
      const { name, type } = target
      const own = {
        target: name,
        type,
        place: placeOf(target),
        selectingNone: await idsSelectingNone(rows, target),
      }
      const row = known.find(one => one.target === name)
      const lackingSince = synced?.at ?? null
      if (row === undefined) return { ...own, ...UNKNOWN, lagSeconds: lagOf({ behind: null, lackingSince }, nowMs) }
      const isGone = row.asOf !== null && (await lacksFiles(target))
      // Follows the query: a copy that must be written from empty lacks everything since its rows were read.
      const state = stateOf(isGone ? { ...row, behind: null, lackingSince: row.asOf } : row, nowMs)
      if (row.asOf === null)
        return { ...own, isGone, ...state, lagSeconds: lagOf({ behind: null, lackingSince }, nowMs) }
      return { ...own, isGone, ...state }
    }),
  )
}
