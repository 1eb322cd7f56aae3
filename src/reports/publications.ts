// The state of each configured target: when it was last published to, what it lacks, and why publications fail.
import { quoteText } from '../catalog/layout.ts'
import { placeOf, type TargetConfig } from '../config/targets.ts'
import { consumerOf } from '../warehouse/changes/publications.ts'
import type { Rows } from '../warehouse/query/rows.ts'

export interface TargetStatus {
  target: string
  type: TargetConfig['type']
  /** The file, folder or database. */
  place: string
  /** When the rows of the last successful publication were read: the target is as fresh as the warehouse was then. Null: never. */
  asOf: string | null
  /** Changed records that the target lacks; null: it must be filled. */
  behind: number | null
  /** The last publication, if it failed. */
  failure: { at: string; code: string; what: string; hint: string | null } | null
}

const lastOf = (target: string, which: string): string =>
  `SELECT started_at AS "at", error_code AS code, error AS what, hint FROM _publications
   WHERE target = ${quoteText(target)} AND ${which} ORDER BY ended_at DESC LIMIT 1`

type Last = { at: string; code: string | null; what: string | null; hint: string | null }

/** What the target of that name lacks. A consumer that has acknowledged nothing of the present epoch must be filled. */
const behindSql = (target: string): string =>
  `SELECT seq, (SELECT count(*) FROM _changes WHERE _changes.seq > c.seq) AS behind,
    EXISTS (SELECT 1 FROM _publications p, _change_log l WHERE p.target = ${quoteText(target)} AND p.epoch = l.epoch
      AND p.ended_at IS NOT NULL AND p.error IS NULL) AS filled
   FROM _consumers c WHERE name = ${quoteText(consumerOf(target))}`

/** The state of each target; `rows` is null without a warehouse. */
export async function targetStatuses(rows: Rows | null, targets: readonly TargetConfig[]): Promise<TargetStatus[]> {
  const statuses: TargetStatus[] = []
  for (const target of targets) {
    const { name, type } = target
    const status: TargetStatus = { target: name, type, place: placeOf(target), asOf: null, behind: null, failure: null }
    statuses.push(status)
    if (rows === null) continue
    const [last] = await rows<Last>(lastOf(name, 'ended_at IS NOT NULL'))
    const [success] = await rows<Last>(lastOf(name, 'ended_at IS NOT NULL AND error IS NULL'))
    const [consumer] = await rows<{ behind: number; filled: boolean }>(behindSql(name))
    status.asOf = success?.at ?? null
    status.behind = consumer?.filled ? consumer.behind : null
    if (last?.what != null) status.failure = { at: last.at, code: last.code!, what: last.what, hint: last.hint }
  }
  return statuses
}
