// The checks of the warehouse's contents: queries that return the rows that break a rule, and agents that cannot be exported.
import { isNumbered, type Layout, layoutOf, quoteText } from '../catalog/layout.ts'
import { RECORD_TYPES } from '../catalog/records.ts'
import { isCode } from '../core/errors.ts'
import { isSegment } from '../vendor/address.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { type SqlFile, sqlFiles } from '../warehouse/sql-files.ts'

/** All checks, by name: those in `sql/checks`, and those derived for each record type. */
export async function warehouseChecks(): Promise<SqlFile[]> {
  const checks = [...(await sqlFiles('checks')), ...recordChecks()]
  return checks.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * The checks of every record type: keys are unique (no primary key ensures this, since it would make upserts slow), record numbers are
 * unique, and each child row belongs to an existing record.
 */
export const recordChecks = (): SqlFile[] =>
  RECORD_TYPES.map(record => layoutOf(record)).flatMap(layout => [
    unique(layout),
    ...(isNumbered(layout) ? [numbered(layout), childrenHaveRecords(layout)] : []),
  ])

const unique = ({ record: { table }, key }: Layout): SqlFile => ({
  name: `${table}_unique`,
  sql: `SELECT ${key.join(', ')}, count(*) AS rows FROM ${table} GROUP BY ALL HAVING count(*) > 1`,
})

const numbered = ({ record: { table } }: Layout): SqlFile => ({
  name: `numbers_of_${table}`,
  sql: `SELECT _record, count(*) AS rows FROM ${table} GROUP BY _record HAVING _record IS NULL OR count(*) > 1`,
})

const childrenHaveRecords = ({ record: { table }, key, children }: Layout): SqlFile => ({
  name: `children_of_${table}`,
  sql: children
    .map(
      child =>
        `SELECT ${quoteText(child.table)} AS child, ${key.join(', ')}, _record FROM ${child.table} ANTI JOIN ${table} USING (${key.join(', ')}, _record)`,
    )
    .join('\nUNION ALL\n'),
})

/** The result of one check: how many rows break the rule, or why it was not checked. */
export type CheckResult = { name: string } & ({ violations: number } | { unchecked: 'timeout' | 'other version' })

/** Runs every check. @throws what the query throws, except QUERY_TIMEOUT and SQL_INVALID */
export async function runChecks(rows: Rows): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  for (const check of await warehouseChecks()) results.push(await resultOf(rows, check))
  return results
}

async function resultOf(rows: Rows, { name, sql }: SqlFile): Promise<CheckResult> {
  const query = sql.trimEnd().replace(/;$/, '')
  try {
    const [{ n } = { n: 0 }] = await rows<{ n: number }>(`SELECT count(*) AS n FROM (${query}\n)`)
    return { name, violations: n }
  } catch (error) {
    if (isCode(error, 'QUERY_TIMEOUT')) return { name, unchecked: 'timeout' }
    // A warehouse of another version may lack tables or columns that the rule reads.
    if (isCode(error, 'SQL_INVALID')) return { name, unchecked: 'other version' }
    throw error
  }
}

/** Agents whose id cannot be part of a URL. */
export async function unusableAgents(rows: Rows): Promise<string[]> {
  const known = await rows<{ id: string }>('SELECT DISTINCT agent_id AS id FROM agents ORDER BY id')
  return known.map(({ id }) => id).filter(id => !isSegment(id))
}
