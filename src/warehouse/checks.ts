// The checks of the warehouse: each one is a query that returns the rows which break a rule.
import { isNumbered, type Layout, layoutOf, quoteText } from '../catalog/layout.ts'
import { RECORD_TYPES } from '../catalog/records.ts'
import { type SqlFile, sqlFiles } from './sql-files.ts'

/** All checks, by name: those in `sql/checks`, and those derived for each record type. */
export async function warehouseChecks(): Promise<SqlFile[]> {
  const checks = [...(await sqlFiles('checks')), ...recordChecks()]
  return checks.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * The checks of every record type: keys are unique (the tables have no primary key, which would make upserts slow), numbers are unique, and
 * each child row has its record.
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
