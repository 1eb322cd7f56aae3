// Marts of groups, such as days of agents: the groups that changed conversations touched, and the rows that a refresh reads to compute them
// again. A build from empty processes the groups in slices, since all contacts of three million conversations exceed the memory limit.
import { conversation } from '../../catalog/conversation/conversation.ts'
import type { Writer } from '../connection.ts'
import { type Mart, marts } from './declarations.ts'
import { byIds, columnsRead, created, emptyTables, IN_GROUPS, named, type Scope } from './scope.ts'

/** Returns the name of the table with the groups to compute again: the values of these columns. */
export const touchedGroups = (groups: readonly string[]): string => `touched_${groups.join('_')}`

const sourcesOf = ({ select }: Mart): string[] => [...new Set(named(IN_GROUPS, select))]

/**
 * Returns a function that calls `work` with a relation of a mart's touched groups, if there are any. Row ids are
 * collected once for all marts with the same groups and sources.
 */
export function touchedGroupsOf(
  writer: Writer,
): (mart: Mart, work: (groups: string, scope: Scope) => Promise<void>) => Promise<void> {
  const known = new Map<string, string>()
  const within = async (source: string, groups: readonly string[]): Promise<string> => {
    const ids = `${source.replace('marts.', 'ids_of_')}_${groups.join('_')}`
    const touched = `SELECT rowid AS id FROM ${source} SEMI JOIN ${touchedGroups(groups)} USING (${groups.join(', ')})`
    if (!known.has(ids)) await created(writer, ids, touched)
    known.set(ids, `(SELECT t.* FROM ${byIds(source, ids)})`)
    return known.get(ids)!
  }
  return async (mart, work) => {
    const touched = touchedGroups(mart.groups)
    if ((await writer.rows(`SELECT 1 FROM ${touched} LIMIT 1`)).length === 0) return
    const rows = new Map<string, string>()
    for (const source of sourcesOf(mart)) rows.set(source, await within(source, mart.groups))
    await work(touched, { rows, empty: new Set() })
  }
}

/** Calls `work` for all groups of a mart, about `slice` at once: contacts of three million conversations exceed the memory limit. */
export async function eachGroupSlice(
  writer: Writer,
  { mart, slice }: { mart: Mart; slice: number },
  work: (scope: Scope) => Promise<void>,
): Promise<void> {
  const keys = mart.groups.join(', ')
  const distinct = sourcesOf(mart).map(source => `SELECT approx_count_distinct((${keys})) AS n FROM ${source}`)
  const [row] = await writer.rows<{ n: string }>(`SELECT max(n)::VARCHAR AS n FROM (${distinct.join(' UNION ALL ')})`)
  const of = Math.ceil(Number(row!.n) / slice)
  for (let index = 0; index < Math.max(of, 1); index++) {
    const where = of > 1 ? ` WHERE hash(${keys}) % ${of} = ${index}` : ''
    await work({
      rows: new Map(sourcesOf(mart).map(source => [source, `(FROM ${source}${where})`])),
      empty: new Set(),
    })
  }
}

/** Group columns of marts that read the conversations of a day, with their child tables. */
export const DAYS = ['workspace_id', 'agent_id', 'day']

export const isOfDays = ({ select }: Mart): boolean => named(IN_GROUPS, select).includes(conversation.table)

/** Calls `work` with the conversations of the touched days, about a slice at once, and a relation of these days. */
export async function eachDaySlice(
  writer: Writer,
  slice: number,
  work: (days: string, scope: Scope) => Promise<void>,
): Promise<void> {
  const { table } = conversation
  const touched = touchedGroups(DAYS)
  if ((await writer.rows(`SELECT 1 FROM ${touched} LIMIT 1`)).length === 0) return
  const all = await created(
    writer,
    'ids_in_days',
    `SELECT rowid AS id, day FROM ${table} SEMI JOIN ${touched} USING (${DAYS.join(', ')})`,
  )
  if (all <= slice) {
    const rows = `SELECT ${await columnsRead(writer, table, IN_GROUPS)} FROM ${byIds(table, 'ids_in_days')}`
    await created(writer, 'conversations_in_days', rows)
    const needed = marts().flatMap(mart => (isOfDays(mart) ? mart.rowsOf : []))
    const empty = new Set(await emptyTables(writer, needed))
    return work(touched, { rows: new Map([[table, 'conversations_in_days']]), empty })
  }
  await created(
    writer,
    'day_slices',
    `SELECT day, (sum(count(id)) OVER (ORDER BY day) // ${slice})::BIGINT AS slice
     FROM (SELECT DISTINCT day FROM ${touched}) LEFT JOIN ids_in_days USING (day) GROUP BY day`,
  )
  const slices = await writer.rows<{ slice: string }>(
    'SELECT DISTINCT slice::VARCHAR AS slice FROM day_slices ORDER BY ALL',
  )
  for (const { slice: one } of slices) {
    const days = (of: string): string => `FROM ${of} SEMI JOIN (FROM day_slices WHERE slice = ${one}) USING (day)`
    await created(writer, 'days_in_slice', days(touched))
    await created(writer, 'ids_in_slice', `SELECT id ${days('ids_in_days')}`)
    const rows = `(SELECT t.* FROM ${byIds(table, 'ids_in_slice')})`
    await work('days_in_slice', { rows: new Map([[table, rows]]), empty: new Set() })
  }
}
