// The last result of each check, in `_checks`.
import { iso, type Writer } from '../connection.ts'
import type { Check, Severity } from './declaration.ts'
import type { CheckResult, ExampleKey } from './run-check.ts'

/** A position in the change log. */
interface Position {
  epoch: string
  seq: number
}

export interface StoredResult extends Omit<CheckResult, 'durationMs'> {
  name: string
  about: string
  table: string
  severity: Severity
  blocks: boolean
  scope: Scope
  /** ISO-8601, UTC. */
  checkedAt: string
  /** When it last ran over all rows. */
  fullAt: string | null
  /** The entry of the change log up to which records are checked; null if it has never run over all rows. */
  position: Position | null
  durationMs: number
}

/** `changes`: only the records that had changed. */
export type Scope = 'all' | 'changes'

type StoredRow = Omit<StoredResult, 'examples' | 'position'> & {
  examples: string
  epoch: string | null
  seq: number | null
}

type Reader = { rows: <R>(sql: string) => Promise<R[]> }

const time = (column: string): string => `strftime(${column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`

const STORED = `SELECT name, about, table_name AS "table", severity, blocks, outcome, scope, violations::DOUBLE AS violations,
  examples::VARCHAR AS examples, error, ${time('checked_at')} AS "checkedAt", ${time('full_at')} AS "fullAt",
  duration_ms::DOUBLE AS "durationMs", epoch, seq::DOUBLE AS seq
  FROM _checks ORDER BY name`

const resultOf = ({ examples, epoch, seq, ...row }: StoredRow): StoredResult => ({
  ...row,
  examples: JSON.parse(examples) as ExampleKey[],
  position: epoch === null ? null : { epoch, seq: seq! },
})

/** The stored results, by name. */
export const storedResults = async ({ rows }: Reader): Promise<StoredResult[]> =>
  (await rows<StoredRow>(STORED)).map(resultOf)

/** The checks that stop the publication of a table, by table. */
export async function blockedTables({ rows }: Reader): Promise<Map<string, string[]>> {
  const failed = await rows<{ name: string; table_name: string }>(
    `SELECT name, table_name FROM _checks WHERE blocks AND outcome = 'failed' ORDER BY name`,
  )
  const blocked = new Map<string, string[]>()
  for (const { name, table_name } of failed) blocked.set(table_name, [...(blocked.get(table_name) ?? []), name])
  return blocked
}

/** A check that has run. */
export interface Ran extends CheckResult {
  check: Check
  scope: Scope
}

/**
 * The result to store after a run. A run over changed records does not show that rows which failed before are repaired: the
 * failure stays until a run over all rows.
 */
export function merged(before: StoredResult | undefined, ran: Ran, at: { nowMs: number } & Position): StoredResult {
  const { check, ...result } = ran
  const { name, about, table, severity, blocks } = check
  const position = { epoch: at.epoch, seq: at.seq }
  const checkedAt = new Date(at.nowMs).toISOString()
  const own = { name, about, table, severity, blocks }
  if (ran.scope === 'all') return { ...own, ...result, checkedAt, fullAt: checkedAt, position }
  const fullAt = before?.fullAt ?? null
  if (before !== undefined && before.outcome !== 'passed' && ran.outcome !== 'failed')
    return { ...before, ...own, position }
  return { ...own, ...result, checkedAt, fullAt, position }
}

const rowOf = ({ table, examples, checkedAt, fullAt, durationMs, position, ...result }: StoredResult) => ({
  ...result,
  ...position,
  table_name: table,
  examples: JSON.stringify(examples),
  checked_at: iso(Date.parse(checkedAt)),
  duration_ms: durationMs,
  full_at: fullAt === null ? null : iso(Date.parse(fullAt)),
})

/** Replaces the stored results by `results`: those of checks that no longer exist are left out by the caller. */
export const storeResults = (writer: Writer, results: readonly StoredResult[]): Promise<void> =>
  writer.transaction(async () => {
    await writer.run('DELETE FROM _checks')
    await writer.append('_checks', results.map(rowOf))
  })
