// The state of each configured target: when it was last published to, what it lacks, and why publications fail.
import { placeOf, type TargetConfig } from '../config/targets.ts'
import { SECOND } from '../core/time.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFile } from '../warehouse/sql-files.ts'

export interface TargetStatus {
  target: string
  type: TargetConfig['type']
  /** The file, folder or database. */
  place: string
  /** When the rows of the last publication were read: the target is as fresh as the warehouse was then. Null: never. */
  asOf: string | null
  /** Changed records that the target lacks; null: it must be written from empty. */
  behind: number | null
  /** For how long the oldest of them has waited; 0: the target has every change. Null: the first publication has not begun. */
  lagSeconds: number | null
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
  attempts: number | null
  failingSince: string | null
  failedAt: string | null
  code: string | null
  what: string | null
  hint: string | null
}

const UNKNOWN = { asOf: null, behind: null, lagSeconds: null, last: null, failure: null }

function lagOf({ behind, lackingSince }: TargetRow, nowMs: number): number | null {
  if (lackingSince === null) return behind === null ? null : 0
  return Math.max(0, (nowMs - Date.parse(lackingSince)) / SECOND)
}

function stateOf(row: TargetRow, nowMs: number): Omit<TargetStatus, 'target' | 'type' | 'place'> {
  const { asOf, behind, succeededAt, kind, rows, durationMs, attempts, failingSince, failedAt, code, what, hint } = row
  return {
    asOf,
    behind,
    lagSeconds: lagOf(row, nowMs),
    last: succeededAt === null ? null : { endedAt: succeededAt, kind: kind!, rows: rows ?? 0, durationMs: durationMs! },
    failure:
      attempts === null ? null : { at: failedAt!, since: failingSince!, attempts, code: code!, what: what!, hint },
  }
}

/** The state of each target; `rows` is null without a warehouse. */
export async function targetStatuses(
  rows: Rows | null,
  targets: readonly TargetConfig[],
  nowMs: number,
): Promise<TargetStatus[]> {
  if (targets.length === 0) return []
  const known = rows === null ? [] : await rows<TargetRow>(sqlFile('reports/targets'))
  return targets.map(target => {
    const { name, type } = target
    const row = known.find(one => one.target === name)
    return { target: name, type, place: placeOf(target), ...(row ? stateOf(row, nowMs) : UNKNOWN) }
  })
}
