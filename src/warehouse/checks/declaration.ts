// Checks of the warehouse's contents. A check is one SELECT that returns the rows that break a rule; the comment at its
// beginning declares its properties. `sql/checks` and the user's own files have the same form.
import { tablesOf } from '../../catalog/ddl.ts'
import { type Layout, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { isPublished, OBSERVATIONS } from '../changes/published-tables.ts'
import type { SqlFile } from '../sql-files.ts'
import { listIn, readHeader, type SqlHeader } from '../sql-files.ts'

export const SEVERITIES = ['error', 'warn'] as const

export type Severity = (typeof SEVERITIES)[number]

export interface Check {
  name: string
  /** Description in one sentence. */
  about: string
  severity: Severity
  /** True if its failure stops the publication of its table. */
  blocks: boolean
  table: string
  /** Key columns of the table among its columns; their values are stored as examples. */
  key: readonly string[]
  sql: string
  /** Tables without whose rows no row can break the rule; omitted if one may. */
  rowsOf?: readonly string[]
  /** True for a check of the user. */
  isOwn: boolean
  /** Reason why its file is invalid, so that it cannot run. */
  problem?: string
}

/** True for marts and models, which are also published. */
const isDerived = (table: string): boolean => /^(marts|models)\./.test(table)

const SETTINGS = ['severity', 'blocks', 'table', 'key']

/** Key columns of each table, by its name. They are ids, so examples identify no person. */
const KEYS = new Map<string, readonly string[]>([
  ...RECORD_TYPES.map(record => layoutOf(record)).flatMap((layout: Layout) =>
    tablesOf(layout).map(({ name }) => [name, layout.key] as const),
  ),
  [OBSERVATIONS.table, OBSERVATIONS.key.map(({ name }) => name)],
])

const firstOf = ({ fields }: SqlHeader, name: string): string | undefined => fields.get(name)?.[0]

function problemOf(header: SqlHeader): string | undefined {
  const { about, fields } = header
  if (!about) return 'its header has no description: begin the file with a comment that says what must hold'
  const unknown = [...fields.values()].flatMap(lines => lines.slice(1))[0]
  if (unknown !== undefined) return `its header has an unknown line "${unknown}"; it may set ${SETTINGS.join(', ')}`
  if (!SEVERITIES.some(known => known === firstOf(header, 'severity')))
    return 'its header needs a line `-- severity: error` or `-- severity: warn`'
  const table = firstOf(header, 'table')
  if (!table) return 'its header needs a line `-- table: NAME` with the table that it is about'
  const blocks = firstOf(header, 'blocks') ?? 'false'
  if (blocks !== 'true' && blocks !== 'false') return '`blocks` must be true or false'
  const mayBlock = firstOf(header, 'severity') === 'error' && (isPublished(table) || isDerived(table))
  if (blocks === 'true' && !mayBlock)
    return '`blocks` is only possible with severity error and a table that is published'
  const columns = KEYS.get(table) ?? []
  const other = listIn(header, 'key').find(name => !columns.includes(name))
  if (other === undefined) return undefined
  return columns.length === 0
    ? `\`key\` is only possible for tables of records, and ${table} is none`
    : `\`key\` names ${other}; the key columns of ${table} are ${columns.join(', ')}`
}

/** Returns the check that a file declares; with a `problem` if its header is invalid. */
export function declaredCheck({ name, sql }: SqlFile, isOwn: boolean): Check {
  const header = readHeader(sql, SETTINGS)
  const problem = problemOf(header)
  return {
    name,
    about: header.about,
    severity: firstOf(header, 'severity') === 'warn' ? 'warn' : 'error',
    blocks: firstOf(header, 'blocks') === 'true' && problem === undefined,
    table: firstOf(header, 'table') ?? '',
    key: problem === undefined ? listIn(header, 'key') : [],
    sql: sql.trim().replace(/;$/, ''),
    isOwn,
    ...(problem && { problem }),
  }
}
