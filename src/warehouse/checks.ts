// Checks that hold for every record type; a check finds the rows that break it.
import { isNumbered, type Layout, layoutOf, quoteText } from '../catalog/layout.ts'
import { RECORD_TYPES } from '../catalog/records.ts'

export interface Check {
  name: string
  sql: string
}

/** Keys are unique (the tables have no primary key: it would make upserts slow), numbers too, and child rows have their record. */
export const recordChecks = (): Check[] =>
  RECORD_TYPES.map(record => layoutOf(record)).flatMap(layout => [
    unique(layout),
    ...(isNumbered(layout) ? [numbered(layout), childrenHaveRecords(layout)] : []),
  ])

const unique = ({ record: { table }, key }: Layout): Check => ({
  name: `${table}_unique`,
  sql: `SELECT ${key.join(', ')}, count(*) AS rows FROM ${table} GROUP BY ALL HAVING count(*) > 1`,
})

const numbered = ({ record: { table } }: Layout): Check => ({
  name: `numbers_of_${table}`,
  sql: `SELECT _record, count(*) AS rows FROM ${table} GROUP BY _record HAVING _record IS NULL OR count(*) > 1`,
})

const childrenHaveRecords = ({ record: { table }, key, children }: Layout): Check => ({
  name: `children_of_${table}`,
  sql: children
    .map(
      child =>
        `SELECT ${quoteText(child.table)} AS child, ${key.join(', ')}, _record FROM ${child.table} ANTI JOIN ${table} USING (${key.join(', ')}, _record)`,
    )
    .join('\nUNION ALL\n'),
})
