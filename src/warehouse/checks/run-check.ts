// Runs one check over all rows.
import { quoteName } from '../../catalog/layout.ts'
import { type ConvohouseError, isCode } from '../../core/errors.ts'
import { ABOUT_THE_SQL, CLASS } from '../query/query-error.ts'
import type { Rows } from '../query/rows.ts'
import type { Check } from './declaration.ts'

/** `broken`: its file is invalid or DuckDB cannot run it. `timeout`: it takes too long. */
export type Outcome = 'passed' | 'failed' | 'broken' | 'timeout'

/** Values of the check's key columns. */
export type ExampleKey = Record<string, string | null>

export interface CheckResult {
  outcome: Outcome
  /** Rows that break the rule; null if it did not run to its end. */
  violations: number | null
  /** Keys of some of these rows. */
  examples: ExampleKey[]
  /** Why it is broken; never a value. */
  error: string | null
  durationMs: number
}

const EXAMPLES = 5

/** Why DuckDB could not run it, without values. */
export function reasonOf({ code, message }: ConvohouseError): string {
  if (code === 'SQL_REFUSED') return message
  if (message.startsWith('Parser Error'))
    return `it is not one SELECT that DuckDB can parse: ${ABOUT_THE_SQL.exec(message)![0]}`
  const text = ABOUT_THE_SQL.exec(message)?.[0] ?? CLASS.exec(message)?.[0]
  return text ?? 'DuckDB could not run it'
}

/** Runs a check. @throws what the query throws, but for faults of its SQL */
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
    // Also binds the key columns, which would otherwise be missed only when the check fails.
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
    if (isCode(error, 'SQL_INVALID', 'SQL_REFUSED')) return result({ outcome: 'broken', error: reasonOf(error) })
    throw error
  }
}
