// The dashboards in deploy/grafana, and their SQL with variables and macros expanded as Grafana's PostgreSQL data source expands them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '..', '..', 'deploy', 'grafana', 'dashboards')

export interface Target {
  refId: string
  datasource: { type: string; uid: string }
  /** Set in a query of PostgreSQL. */
  format?: 'table' | 'time_series'
  rawSql?: string
  /** Set in a query of Prometheus. */
  expr?: string
  instant?: boolean
}

export interface Panel {
  id: number
  type: string
  title: string
  gridPos: { h: number; w: number; x: number; y: number }
  targets?: Target[]
  fieldConfig?: { overrides: { matcher: { id: string; options: string } }[] }
}

export interface Variable {
  name: string
  type: 'query' | 'constant' | 'datasource'
  query: string | { query: string }
  includeAll?: boolean
  multi?: boolean
}

export interface Dashboard {
  uid: string
  title: string
  timezone: string
  templating: { list: Variable[] }
  panels: Panel[]
}

export const readDashboard = (name: string): Dashboard =>
  JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')) as Dashboard

/** Returns the panels with queries: all except the headings of rows. */
export const queryPanels = ({ panels }: Dashboard): Panel[] => panels.filter(({ type }) => type !== 'row')

/** Values that a reader has chosen, by variable. */
export type Chosen = Readonly<Record<string, readonly string[]>>

export interface TimeRange {
  /** ISO-8601 time in UTC. */
  from: string
  to: string
}

const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`

/** Replaces `${name:raw}` and `${name:sqlstring}`. */
const withVariables = (sql: string, chosen: Chosen): string =>
  sql.replace(/\$\{(\w+):(raw|sqlstring)\}/g, (_, name: string, format: string) => {
    const values = chosen[name]
    if (!values) throw new Error(`There is no variable ${name}.`)
    return format === 'raw' ? values.join(',') : values.map(quoted).join(',')
  })

/** Returns the macros that the dashboards use; the pattern is that of Grafana, whose arguments cannot contain a parenthesis. */
const withMacros = (sql: string, { from, to }: TimeRange): string =>
  sql.replace(/\$([_a-zA-Z0-9]+)\(([^)]*)\)/g, (_, name: string, column: string) => {
    if (name !== '__timeFilter') throw new Error(`The macro ${name} is not expanded here.`)
    return `${column} BETWEEN ${quoted(from)} AND ${quoted(to)}`
  })

export function expanded(sql: string, chosen: Chosen, range: TimeRange): string {
  const result = withMacros(withVariables(sql, chosen), range)
  if (/\$[\w{]/.test(result)) throw new Error(`Not expanded: ${result}`)
  return result
}

/** Chooses every value of every variable ("All"), in order, since one may refer to another. `constants` replaces defaults. */
export async function allChosen(
  { templating }: Dashboard,
  values: (sql: string) => Promise<string[]>,
  constants: Readonly<Record<string, string>> = {},
): Promise<Chosen> {
  const chosen: Record<string, readonly string[]> = {}
  for (const { name, type, query } of templating.list) {
    if (typeof query !== 'string') throw new Error(`${name} is no variable of SQL`)
    if (type === 'constant') chosen[name] = [constants[name] ?? query]
    if (type === 'query') chosen[name] = await values(withVariables(query, chosen))
  }
  return chosen
}
