// Checks of the warehouse's contents. A check is one SELECT that returns the rows that break a rule; the comment at its beginning
// declares what it is about. The same form serves `sql/checks` and the user's own files.
import { tablesOf } from '../../catalog/ddl.ts'
import { type Layout, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { isPublished, OBSERVATIONS } from '../changes/published-tables.ts'
import type { SqlFile } from '../sql-files.ts'

export const SEVERITIES = ['error', 'warn'] as const

export type Severity = (typeof SEVERITIES)[number]

export interface Check {
  name: string
  /** One sentence. */
  about: string
  severity: Severity
  /** Its failure stops the publication of its table. */
  blocks: boolean
  table: string
  /** Columns of its rows that are key columns of the table: their values are stored as examples. */
  key: readonly string[]
  sql: string
  /** Tables without whose rows no row breaks the rule; omitted: one may. */
  rowsOf?: readonly string[]
  /** A check of the user, not of convohouse. */
  isOwn: boolean
  /** Why it cannot run: its file is invalid. */
  problem?: string
}

/** Marts and models, which are published, too. */
const isDerived = (table: string): boolean => /^(marts|models)\./.test(table)

const SETTING = /^--\s*([a-z_]+):\s*(.*)$/

const SETTINGS = ['severity', 'blocks', 'table', 'key'] as const

const ALLOWED = `severity, blocks, table and key`

interface Header {
  settings: Map<string, string>
  about: string
  problem?: string
}

/** Reads the comment lines at the beginning: settings of the form `-- table: conversations`, and the description. */
function headerOf(sql: string): Header {
  const settings = new Map<string, string>()
  const about: string[] = []
  let problem: string | undefined
  for (const line of sql.trimStart().split(/\r?\n/)) {
    if (!line.startsWith('--')) break
    const [, name, value] = SETTING.exec(line) ?? []
    if (name === undefined) about.push(line.replace(/^--\s*/, '').trim())
    else if (!SETTINGS.some(known => known === name))
      problem ??= `its header has an unknown setting ${JSON.stringify(name)}; it may have ${ALLOWED}`
    else if (settings.has(name)) problem ??= `its header sets ${name} twice`
    else settings.set(name, value!.trim())
  }
  return { settings, about: about.join(' ').trim(), ...(problem && { problem }) }
}

/** Key columns of a table by its name. They are ids, so examples name no person. */
const KEYS = new Map<string, readonly string[]>([
  ...RECORD_TYPES.map(record => layoutOf(record)).flatMap((layout: Layout) =>
    tablesOf(layout).map(({ name }) => [name, layout.key] as const),
  ),
  [OBSERVATIONS.table, OBSERVATIONS.key.map(({ name }) => name)],
])

function problemOf({ severity, blocks, table, key, about }: Record<string, string | undefined>): string | undefined {
  if (!about) return 'its header has no description: begin the file with a comment that says what must hold'
  if (!SEVERITIES.some(known => known === severity))
    return 'its header needs a line `-- severity: error` or `-- severity: warn`'
  if (!table) return 'its header needs a line `-- table: NAME` with the table that it is about'
  if (blocks !== undefined && blocks !== 'true' && blocks !== 'false') return '`blocks` must be true or false'
  if (blocks === 'true' && (severity !== 'error' || !(isPublished(table) || isDerived(table))))
    return '`blocks` is only possible with severity error and a table that is published'
  const columns = KEYS.get(table) ?? []
  const other = keyOf(key).find(name => !columns.includes(name))
  if (other === undefined) return undefined
  return columns.length === 0
    ? `\`key\` is only possible for tables of records, and ${table} is none`
    : `\`key\` names ${other}; the key columns of ${table} are ${columns.join(', ')}`
}

const keyOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')

/** The check that a file declares; with a `problem` if its header is invalid. */
export function declaredCheck({ name, sql }: SqlFile, isOwn: boolean): Check {
  const { settings, about, problem: unknown } = headerOf(sql)
  const given = { about, ...Object.fromEntries(settings) } as Record<string, string | undefined>
  const problem = unknown ?? problemOf(given)
  return {
    name,
    about,
    severity: given.severity === 'warn' ? 'warn' : 'error',
    blocks: given.blocks === 'true' && problem === undefined,
    table: given.table ?? '',
    key: problem === undefined ? keyOf(given.key) : [],
    // The header may end in a comment without a line break.
    sql: sql.trim().replace(/;$/, ''),
    isOwn,
    ...(problem && { problem }),
  }
}
