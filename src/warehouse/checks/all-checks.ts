// All checks: those in `sql/checks`, those derived from the catalog and the marts, and the user's own files.
import { isNumbered, type Layout, layoutOf, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { isPersonal } from '../../catalog/shape.ts'
import { diskErrorText } from '../../core/disk.ts'
import { marts } from '../marts/declarations.ts'
import { ownSqlFiles, sqlFiles } from '../sql-files.ts'
import { type Check, declaredCheck } from './declaration.ts'

const byName = (a: Check, b: Check): number => (a.name < b.name ? -1 : 1)

/**
 * Returns checks for every record type: keys and record numbers are unique, and child rows belong to a record. Tables have no primary keys,
 * which would make upserts slow. Joins would multiply duplicate keys and orphans in every copy, so both stop the publication of their table.
 */
export const recordChecks = (): Check[] =>
  RECORD_TYPES.map(record => layoutOf(record)).flatMap(layout => [
    unique(layout),
    ...(isNumbered(layout) ? [numbered(layout), childrenHaveRecords(layout)] : []),
  ])

const derived = (
  { record: { table } }: Layout,
  check: Pick<Check, 'name' | 'about' | 'sql' | 'rowsOf' | 'blocks' | 'key'>,
): Check => ({
  ...check,
  severity: 'error',
  table,
  isOwn: false,
})

const unique = (layout: Layout): Check =>
  derived(layout, {
    name: `${layout.record.table}_unique`,
    about: `No two rows of ${layout.record.table} have the same key.`,
    blocks: true,
    key: layout.key,
    sql: `SELECT ${layout.key.join(', ')}, count(*) AS rows FROM ${layout.record.table} GROUP BY ALL HAVING count(*) > 1`,
    rowsOf: [layout.record.table],
  })

const numbered = (layout: Layout): Check =>
  derived(layout, {
    name: `numbers_of_${layout.record.table}`,
    about: `Each row of ${layout.record.table} has a record number of its own.`,
    blocks: false,
    key: [],
    sql: `SELECT _record, count(*) AS rows FROM ${layout.record.table} GROUP BY _record HAVING _record IS NULL OR count(*) > 1`,
    rowsOf: [layout.record.table],
  })

const childrenHaveRecords = (layout: Layout): Check => {
  const { record, key, children } = layout
  const keys = key.join(', ')
  return derived(layout, {
    name: `children_of_${record.table}`,
    about: `Each child row of ${record.table} belongs to a row of ${record.table}.`,
    blocks: true,
    key,
    sql: children
      .map(
        ({ table }) =>
          `SELECT ${quoteText(table)} AS child, ${keys}, _record FROM ${table} ANTI JOIN ${record.table} USING (${keys}, _record)`,
      )
      .join('\nUNION ALL\n'),
    rowsOf: children.map(({ table }) => table),
  })
}

/** Returns checks that the key columns of a mart identify a row. */
const martChecks = (): Check[] =>
  marts().map(({ name, grain, columns }) => {
    const isKept = (key: string): boolean => !isPersonal(columns.find(column => column.name === key)!.pii)
    return {
      name: `${name}_unique`,
      about: `No two rows of marts.${name} have the same key.`,
      severity: 'error',
      blocks: true,
      table: `marts.${name}`,
      // The values of these columns are stored as examples.
      key: grain.filter(isKept),
      sql: `SELECT ${grain.join(', ')}, count(*) AS rows FROM marts.${name} GROUP BY ALL HAVING count(*) > 1`,
      rowsOf: [`marts.${name}`],
      isOwn: false,
    }
  })

/** Returns convohouse's own checks, by name. */
export async function warehouseChecks(): Promise<Check[]> {
  const bundled = sqlFiles('checks').map(file => declaredCheck(file, false))
  return [...bundled, ...recordChecks(), ...martChecks()].sort(byName)
}

const invalid = (name: string, problem: string): Check => ({
  name,
  about: '',
  severity: 'error',
  blocks: false,
  table: '',
  key: [],
  sql: '',
  isOwn: true,
  problem,
})

/** Returns the checks of a folder. A file or folder that cannot be read becomes a check that reports this. */
async function ownChecks(folder: string): Promise<Check[]> {
  const files = await ownSqlFiles(folder).catch(error => diskErrorText(error))
  if (typeof files === 'string') return [invalid('checks', `the folder ${folder} cannot be read: ${files}`)]
  return files.map(file => (file.problem === undefined ? declaredCheck(file, true) : invalid(file.name, file.problem)))
}

/** Returns all checks by name; `folder` contains the user's own, or is null if there are none. */
export async function allChecks(folder: string | null): Promise<Check[]> {
  const bundled = await warehouseChecks()
  if (folder === null) return bundled
  const taken = new Set(bundled.map(({ name }) => name))
  const own = (await ownChecks(folder)).map(check =>
    taken.has(check.name)
      ? invalid(`${check.name}.sql`, `convohouse has a check ${check.name} of its own: rename the file`)
      : check,
  )
  return [...bundled, ...own].sort(byName)
}
