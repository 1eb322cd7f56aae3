// The counts of a reconciliation, from the `_ledger` view: by agent, day or month.
import { quoteText } from '../catalog/layout.ts'
import type { Rows } from '../warehouse/query/rows.ts'

export const BYS = ['agent', 'day', 'month'] as const
export type By = (typeof BYS)[number]

/** The counts in the order in which they are shown; the view's header defines each. */
const COUNTS = {
  scanned: 'scanned',
  returned: 'returned',
  skipped: 'skipped',
  held: 'held',
  quarantined: 'quarantined',
  incomplete: 'incomplete',
  seenInEvents: 'seen_in_events',
  knownStale: 'known_stale',
  missing: 'missing',
  notExportable: 'not_exportable',
} as const

export type CountName = keyof typeof COUNTS
export const COUNT_NAMES = Object.keys(COUNTS) as CountName[]
export type Counts = Record<CountName, number>

/** `key`: an agent, a day or a month; null for conversations without `ts`. */
export type ReconciliationRow = Counts & { key: string | null }

const KEYS: Record<By, string> = { agent: 'l.agent_id', day: 'l.day::VARCHAR', month: "strftime(l.day, '%Y-%m')" }

/** Agents by size; days and months newest first. */
const orderOf = (by: By): string => (by === 'agent' ? `scanned DESC, ${KEYS.agent}` : `${KEYS[by]} DESC NULLS LAST`)

export interface Scope {
  workspaceIds: readonly string[]
  /** Only these; an empty list means all. */
  agents: readonly string[]
  /** Days before the day of this moment are left out, as are conversations without `ts`; null: nothing is left out. */
  sinceMs: number | null
}

const oneOf = (column: string, values: readonly string[]): string =>
  `${column} IN (${values.map(quoteText).join(', ')})`

function conditions({ workspaceIds, agents, sinceMs }: Scope): string {
  const since = `(make_timestamp(${(sinceMs ?? 0) * 1_000}) AT TIME ZONE 'UTC' AT TIME ZONE coalesce(z.time_zone, 'UTC'))::DATE`
  return [
    oneOf('l.workspace_id', workspaceIds),
    ...(agents.length > 0 ? [oneOf('l.agent_id', agents)] : []),
    ...(sinceMs === null ? [] : [`l.day >= ${since}`]),
  ].join(' AND ')
}

const sums = (names: Readonly<Record<string, string>>): string =>
  Object.entries(names)
    .map(([name, column]) => `coalesce(sum(l.${column}), 0)::BIGINT AS "${name}"`)
    .join(', ')

const FROM = 'FROM _ledger l LEFT JOIN _workspaces z ON z.workspace_id = l.workspace_id'

/** The SELECT for the rows; the columns have their SQL names, since programs read them. */
export function reconciliationSql(scope: Scope, by: By): string {
  const columns = Object.fromEntries(Object.values(COUNTS).map(column => [column, column]))
  return `SELECT l.workspace_id, ${KEYS[by]} AS "${by}", ${sums(columns)} ${FROM}
    WHERE ${conditions(scope)} GROUP BY l.workspace_id, ${KEYS[by]} ORDER BY l.workspace_id, ${orderOf(by)}`
}

/** The rows of one workspace. */
export const reconciliationRows = (rows: Rows, scope: Scope, by: By): Promise<ReconciliationRow[]> =>
  rows<ReconciliationRow>(`SELECT ${KEYS[by]} AS key, ${sums(COUNTS)} ${FROM}
    WHERE ${conditions(scope)} GROUP BY ${KEYS[by]} ORDER BY ${orderOf(by)}`)

export const totalsOf = (rows: readonly ReconciliationRow[]): Counts =>
  Object.fromEntries(COUNT_NAMES.map(name => [name, rows.reduce((sum, row) => sum + row[name], 0)])) as Counts

/** Sessions that exporting one conversation has billed on average; at least 1. */
export async function sessionsEach(rows: Rows, { workspaceIds }: Scope): Promise<number> {
  const [billed] = await rows<{ each: number | null }>(
    `SELECT sum(billed) / nullif(sum(returned), 0) AS each FROM _windows WHERE ${oneOf('workspace_id', workspaceIds)}`,
  )
  return Math.max(1, billed?.each ?? 1)
}
