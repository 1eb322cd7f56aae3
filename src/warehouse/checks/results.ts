// Runs a check over all rows, and stores the last result of each check in `_checks`.
import { quoteName } from '../../catalog/layout.ts'
import { type ConvohouseError, isCode } from '../../core/errors.ts'
import type { Writer } from '../connection.ts'
import { ABOUT_THE_SQL, CLASS } from '../query/query-error.ts'
import type { Rows } from '../query/rows.ts'
import type { Check, Severity } from './declaration.ts'

export interface StoredResult extends CheckResult {
  name: string
  about: string
  table: string
  severity: Severity
  blocks: boolean
  /** ISO-8601, UTC. */
  checkedAt: string
  /** The end of the change log when the check ran. */
  epoch: string
  seq: number
}

type StoredRow = Omit<StoredResult, 'examples'> & { examples: string }

type Reader = { rows: <R>(sql: string) => Promise<R[]> }

const STORED = `SELECT name, about, table_name AS "table", severity, blocks, outcome, violations::DOUBLE AS violations,
  examples::VARCHAR AS examples, error, strftime(checked_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS "checkedAt",
  duration_ms::DOUBLE AS "durationMs", epoch, seq::DOUBLE AS seq
  FROM _checks ORDER BY name`

/** Returns the stored results, by name. */
export const storedResults = async ({ rows }: Reader): Promise<StoredResult[]> =>
  (await rows<StoredRow>(STORED)).map(({ examples, ...row }) => ({
    ...row,
    examples: JSON.parse(examples) as ExampleKey[],
  }))

/** Returns the checks that stop the publication of a table, by table. */
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

/** Returns the result to store after a run. */
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

/** Replaces the stored results by `results`. The caller omits checks that no longer exist. */
export const storeResults = (writer: Writer, results: readonly StoredResult[]): Promise<void> =>
  writer.transaction(async () => {
    await writer.run('DELETE FROM _checks')
    await writer.append('_checks', results.map(rowOf))
  })

/** `broken`: its file is invalid or DuckDB cannot run it. `timeout`: it took too long. */
export type Outcome = 'passed' | 'failed' | 'broken' | 'timeout'

/** Values of the check's key columns. */
type ExampleKey = Record<string, string | null>

export interface CheckResult {
  outcome: Outcome
  /** Number of rows that break the rule; null if the check did not finish. */
  violations: number | null
  /** Keys of some of these rows. */
  examples: ExampleKey[]
  /** Reason why it is broken, without values. */
  error: string | null
  durationMs: number
}

const EXAMPLES = 5

/** Returns DuckDB's reason for refusing the check, without values. */
export function reasonOf({ code, message }: ConvohouseError): string {
  if (code === 'SQL_REFUSED') return message
  if (message.startsWith('Parser Error'))
    return `it is not one SELECT that DuckDB can parse: ${ABOUT_THE_SQL.exec(message)![0]}`
  const text = ABOUT_THE_SQL.exec(message)?.[0] ?? CLASS.exec(message)?.[0]
  return text ?? 'DuckDB could not run it'
}

/** Runs a check. Faults of its SQL become results. @throws other errors of the query */
export async function runCheck(rows: Rows, check: Check): Promise<CheckResult> {
  const begunMs = performance.now()
  const result = (found: Partial<CheckResult> & Pick<CheckResult, 'outcome'>): CheckResult => ({
    violations: null,
    examples: [],
    error: null,
    durationMs: Math.round(performance.now() - begunMs),
    ...found,
  })
  if (check.problem !== undefined) return result({ outcome: 'broken', error: check.problem })
  const { key, sql } = check
  try {
    // Binds the key columns too, so that a missing one is noticed before the check fails.
    const bound = key.map(name => `, count(${quoteName(name)})`).join('')
    const [counted] = await rows<{ n: number }>(`SELECT count(*) AS n${bound} FROM (${sql}\n)`)
    const violations = counted!.n
    if (violations === 0) return result({ outcome: 'passed', violations })
    const texts = key.map(name => `${quoteName(name)}::VARCHAR AS ${quoteName(name)}`).join(', ')
    const examples =
      key.length === 0
        ? []
        : await rows<ExampleKey>(`SELECT DISTINCT ${texts} FROM (${sql}\n) ORDER BY ALL LIMIT ${EXAMPLES}`)
    return result({ outcome: 'failed', violations, examples })
  } catch (error) {
    if (isCode(error, 'QUERY_TIMEOUT')) return result({ outcome: 'timeout' })
    if (isCode(error, 'QUERY_MEMORY', 'QUERY_HELD')) return result({ outcome: 'broken', error: error.message })
    if (isCode(error, 'SQL_INVALID', 'SQL_REFUSED')) return result({ outcome: 'broken', error: reasonOf(error) })
    throw error
  }
}
