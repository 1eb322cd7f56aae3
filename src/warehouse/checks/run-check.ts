// Runs one check, over all rows or over the records that have changed.
import { isNumbered, layoutOf, quoteName } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { type ConvohouseError, isCode } from '../../core/errors.ts'
import { sameKeys } from '../changes/published-tables.ts'
import { changedKeys } from '../changes/read-changes.ts'
import { ABOUT_THE_SQL, CLASS } from '../query/query-error.ts'
import type { Rows } from '../query/rows.ts'
import { type Check, publishedTableOf } from './declaration.ts'

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

/** Entries of the change log whose records are checked. */
export interface ChangedRange {
  epoch: string
  after: number
  upTo: number
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

/** Tables of records whose child rows have the record's number. */
const NUMBERED: ReadonlySet<string> = new Set(
  RECORD_TYPES.map(record => layoutOf(record))
    .filter(isNumbered)
    .map(({ record }) => record.table),
)

interface Scoped {
  /** WITH clause before the statement. */
  scope: string
  /** The check's SELECT. */
  sql: string
}

/**
 * The check's SELECT over changed records: its table is replaced by the rows of the changed keys, and the child tables by those with the number
 * of such a row (by key, which is three text columns, it took ten times as long). In DuckDB, the name of a CTE precedes a table's, in subqueries
 * too. Only tables that the SQL names are replaced: twenty CTEs took 150 ms to plan.
 */
async function overChanges(rows: Rows, check: Check, { epoch, after, upTo }: ChangedRange): Promise<Scoped> {
  const { table, sql, sqlAboveNumber } = check
  const published = publishedTableOf(table)!
  const { table: parent, children } = published
  const keys = changedKeys(published, { from: { epoch, seq: after }, to: { epoch, seq: upTo } })
  const changed = `_changed AS MATERIALIZED (${keys})`
  const byKey = (name: string, what: string) =>
    `SELECT ${what} FROM main.${name} t SEMI JOIN _changed k ON ${sameKeys(published, 'k', 't')}`
  if (sqlAboveNumber) {
    const others = `SELECT max(t._record)::VARCHAR AS last FROM main.${parent} t ANTI JOIN _changed k ON ${sameKeys(published, 'k', 't')}`
    const [row] = await rows<{ last: string | null }>(`WITH ${changed} ${others}`)
    return { scope: '', sql: sqlAboveNumber(row?.last ?? '0') }
  }
  const named = children.filter(name => isNamed(name, sql))
  const isByNumber = NUMBERED.has(parent) && named.length > 0
  const ctes = [
    changed,
    ...(isByNumber ? [`_numbers AS MATERIALIZED (${byKey(parent, 't._record')})`] : []),
    ...(isNamed(parent, sql) ? [`${parent} AS (${byKey(parent, 't.*')})`] : []),
    ...named.map(name =>
      isByNumber
        ? `${name} AS (SELECT t.* FROM main.${name} t SEMI JOIN _numbers n ON n._record = t._record)`
        : `${name} AS (${byKey(name, 't.*')})`,
    ),
  ]
  return { scope: `WITH ${ctes.join(', ')} `, sql }
}

const isNamed = (table: string, sql: string): boolean => new RegExp(`\\b${table}\\b`, 'i').test(sql)

/** Runs a check: over all rows, or with `range` over the records that have changed. @throws what the query throws, but for faults of its SQL */
export async function runCheck(rows: Rows, check: Check, range: ChangedRange | null = null): Promise<CheckResult> {
  const begunMs = performance.now()
  const result = (found: Partial<CheckResult> & Pick<CheckResult, 'outcome'>): CheckResult => ({
    violations: null,
    examples: [],
    error: null,
    durationMs: Math.round(performance.now() - begunMs),
    ...found,
  })
  if (check.problem !== undefined) return result({ outcome: 'broken', error: check.problem })
  const { key } = check
  try {
    const { scope, sql } = range === null ? { scope: '', sql: check.sql } : await overChanges(rows, check, range)
    // Also binds the key columns, which would otherwise be missed only when the check fails.
    const bound = key.map(name => `, count(${quoteName(name)})`).join('')
    const [counted] = await rows<{ n: number }>(`${scope}SELECT count(*) AS n${bound} FROM (${sql}\n)`)
    const violations = counted!.n
    if (violations === 0) return result({ outcome: 'passed', violations })
    const texts = key.map(name => `${quoteName(name)}::VARCHAR AS ${quoteName(name)}`).join(', ')
    const examples =
      key.length === 0
        ? []
        : await rows<ExampleKey>(`${scope}SELECT DISTINCT ${texts} FROM (${sql}\n) ORDER BY ALL LIMIT ${EXAMPLES}`)
    return result({ outcome: 'failed', violations, examples })
  } catch (error) {
    if (isCode(error, 'QUERY_TIMEOUT')) return result({ outcome: 'timeout' })
    if (isCode(error, 'SQL_INVALID', 'SQL_REFUSED')) return result({ outcome: 'broken', error: reasonOf(error) })
    throw error
  }
}
