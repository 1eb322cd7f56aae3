// The last result of each check, in `_checks`.
import type { Writer } from '../connection.ts'
import type { Check, Severity } from './declaration.ts'
import type { CheckResult, ExampleKey } from './run-check.ts'

export interface StoredResult extends CheckResult {
  name: string
  about: string
  table: string
  severity: Severity
  blocks: boolean
  /** ISO-8601, UTC. */
  checkedAt: string
  /** The end of the change log when it ran. */
  epoch: string
  seq: number
}

type StoredRow = Omit<StoredResult, 'examples'> & { examples: string }

type Reader = { rows: <R>(sql: string) => Promise<R[]> }

const STORED = `SELECT name, about, table_name AS "table", severity, blocks, outcome, violations::DOUBLE AS violations,
  examples::VARCHAR AS examples, error, strftime(checked_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS "checkedAt",
  duration_ms::DOUBLE AS "durationMs", epoch, seq::DOUBLE AS seq
  FROM _checks ORDER BY name`

/** The stored results, by name. */
export const storedResults = async ({ rows }: Reader): Promise<StoredResult[]> =>
  (await rows<StoredRow>(STORED)).map(({ examples, ...row }) => ({
    ...row,
    examples: JSON.parse(examples) as ExampleKey[],
  }))

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
}

/** The result to store after a run. */
export const resultOf = (
  { check: { name, about, table, severity, blocks }, ...found }: Ran,
  { nowMs, epoch, seq }: { nowMs: number; epoch: string; seq: number },
): StoredResult => ({
  ...{ name, about, table, severity, blocks, ...found },
  ...{ checkedAt: new Date(nowMs).toISOString(), epoch, seq },
})

const rowOf = ({ table, checkedAt, durationMs, ...result }: StoredResult) => ({
  ...result,
  table_name: table,
  checked_at: checkedAt,
  duration_ms: durationMs,
})

/** Replaces the stored results by `results`: those of checks that no longer exist are left out by the caller. */
export const storeResults = (writer: Writer, results: readonly StoredResult[]): Promise<void> =>
  writer.transaction(async () => {
    await writer.run('DELETE FROM _checks')
    await writer.append('_checks', results.map(rowOf))
  })
