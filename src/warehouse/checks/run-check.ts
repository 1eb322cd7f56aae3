// Runs one check, over all rows or over the records that have changed.
import { quoteName } from '../../catalog/layout.ts'
import { type ConvohouseError, isCode } from '../../core/errors.ts'
import { sameKeys } from '../changes/published-tables.ts'
import { changedKeys } from '../changes/read-changes.ts'
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

/** DuckDB's messages of these classes quote the SQL alone; others may quote a value. */
const ABOUT_THE_SQL = /^(Parser|Binder|Catalog) Error: [^\n]*/

const CLASS = /^[A-Z][A-Za-z ]{1,40} Error\b/

/** Why DuckDB could not run it. */
function reasonOf({ code, message }: ConvohouseError): string {
  if (code === 'SQL_REFUSED') return message
  const text = ABOUT_THE_SQL.exec(message)?.[0] ?? CLASS.exec(message)?.[0]
  return text ?? 'DuckDB could not run it'
}

/**
 * The check's SELECT over changed records: its table and the child tables are replaced by the rows of the changed keys. In DuckDB, the
 * name of a CTE precedes a table's, in subqueries too. Only tables that the SQL names are replaced: twenty CTEs took 150 ms to plan.
 */
function overChanges({ table, sql }: Check, { epoch, after, upTo }: ChangedRange): string {
  const published = publishedTableOf(table)!
  const keys = changedKeys(published, { from: { epoch, seq: after }, to: { epoch, seq: upTo } })
  const isNamed = (name: string): boolean => new RegExp(`\\b${name}\\b`, 'i').test(sql)
  const replaced = [published.table, ...published.children]
    .filter(isNamed)
    .map(name => `${name} AS (SELECT t.* FROM main.${name} t SEMI JOIN _changed k ON ${sameKeys(published, 'k', 't')})`)
  return `WITH ${[`_changed AS MATERIALIZED (${keys})`, ...replaced].join(', ')} `
}

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
  const scope = range === null ? '' : overChanges(check, range)
  const { key } = check
  try {
    // Also binds the key columns, which would otherwise be missed only when the check fails.
    const bound = key.map(name => `, count(${quoteName(name)})`).join('')
    const [counted] = await rows<{ n: number }>(`${scope}SELECT count(*) AS n${bound} FROM (${check.sql}\n)`)
    const violations = counted!.n
    if (violations === 0) return result({ outcome: 'passed', violations })
    const texts = key.map(name => `${quoteName(name)}::VARCHAR AS ${quoteName(name)}`).join(', ')
    const examples =
      key.length === 0
        ? []
        : await rows<ExampleKey>(
            `${scope}SELECT DISTINCT ${texts} FROM (${check.sql}\n) ORDER BY ALL LIMIT ${EXAMPLES}`,
          )
    return result({ outcome: 'failed', violations, examples })
  } catch (error) {
    if (isCode(error, 'QUERY_TIMEOUT')) return result({ outcome: 'timeout' })
    if (isCode(error, 'SQL_INVALID', 'SQL_REFUSED'))
      return result({ outcome: 'broken', error: await reasonIn(rows, check, error) })
    throw error
  }
}

const NO_SUBQUERY = 'it is not one SELECT: a check returns the rows that break its rule'

/** The reason, for SQL that does not parse within a check's own SELECT: DuckDB then reports a place that is not in the file. */
async function reasonIn(rows: Rows, { sql }: Check, error: ConvohouseError): Promise<string> {
  if (!error.message.startsWith('Parser Error')) return reasonOf(error)
  const alone = await rows(sql).then(
    () => null,
    (cause: unknown) => cause,
  )
  if (isCode(alone, 'SQL_INVALID')) return reasonOf(alone)
  return isCode(alone, 'SQL_REFUSED') ? `${NO_SUBQUERY} (${alone.message})` : NO_SUBQUERY
}
