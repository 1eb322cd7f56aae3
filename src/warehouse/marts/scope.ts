// Which rows a refresh reads and replaces. The SELECTs of `sql/marts` read tables through the macros `scoped` and `in_days`, which return all
// rows: a whole build. A refresh replaces the calls by the rows of conversations that changed and of the days that these touched.
//
// These rows are found once, by a scan of the key columns alone; then each SELECT joins their row ids, for which DuckDB skips the vectors
// without one of them. At 300,000 conversations, joining by key took 57 ms for fifteen columns of 50 conversations, and 720 ms for all columns.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { isNumbered, type Layout, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { Writer } from '../connection.ts'
import { type Mart, marts } from './declarations.ts'

export const CONVERSATION_KEY = layoutOf(conversation).key
export const DAY_KEY = ['workspace_id', 'agent_id', 'day']

const isOfConversation = (layout: Layout): boolean =>
  isNumbered(layout) && layout.key.join() === CONVERSATION_KEY.join()

const SCOPED = /\bscoped\('(\w+)'\)/g
const IN_DAYS = /\bin_days\('marts\.(\w+)'\)/g

/** Makes the macros return all rows. */
export async function defineMacros(writer: Writer): Promise<void> {
  for (const macro of ['scoped', 'in_days'])
    await writer.run(`CREATE OR REPLACE TEMP MACRO ${macro}(name) AS TABLE FROM query_table(name)`)
}

const rowsOf = (table: string, ids: string): string =>
  `(SELECT t.* FROM ${table} t SEMI JOIN ${ids} i ON t.rowid = i.id)`

/** The mart's SELECT over the rows in scope. */
export const inScope = ({ select }: Mart): string =>
  select
    .replace(SCOPED, (_, table: string) => rowsOf(table, `scoped_${table}`))
    .replace(IN_DAYS, (_, mart: string) => rowsOf(`marts.${mart}`, `days_of_${mart}`))

const named = (pattern: RegExp, select: string): string[] => [...select.matchAll(pattern)].map(([, name]) => name!)

const collect = (writer: Writer, ids: string, { columns, where }: { columns: string; where: string }): Promise<void> =>
  writer.run(`CREATE OR REPLACE TEMP TABLE ${ids} AS SELECT ${columns} FROM ${where}`)

/** Collects the row ids of conversations in every table that a mart reads. `conversations`: SQL of their rows. */
export async function scopeConversations(writer: Writer, conversations: string): Promise<void> {
  const key = CONVERSATION_KEY.join(', ')
  const own = `scoped_${conversation.table}`
  await collect(writer, own, { columns: `rowid AS id, _record, ${key}`, where: conversations })
  const left = new Set(marts().flatMap(({ select }) => named(SCOPED, select)))
  left.delete(conversation.table)
  for (const { record, children } of RECORD_TYPES.map(type => layoutOf(type)).filter(isOfConversation)) {
    const ids = `scoped_${record.table}`
    const read = children.filter(({ table }) => left.delete(table))
    const isRead = left.delete(record.table)
    if (ids !== own && (isRead || read.length > 0))
      await collect(writer, ids, {
        columns: 'rowid AS id, _record',
        where: `${record.table} SEMI JOIN ${own} USING (${key})`,
      })
    // Numbers take a third of the time of the keys.
    for (const { table } of read)
      await collect(writer, `scoped_${table}`, {
        columns: 'rowid AS id',
        where: `${table} SEMI JOIN ${ids} USING (_record)`,
      })
  }
  for (const table of left)
    await collect(writer, `scoped_${table}`, {
      columns: 'rowid AS id',
      where: `${table} SEMI JOIN ${own} USING (${key})`,
    })
}

/** Collects the row ids of the `touched_days` in the marts that this one is built from. */
export async function scopeDays(writer: Writer, { select }: Mart): Promise<void> {
  for (const mart of new Set(named(IN_DAYS, select)))
    await collect(writer, `days_of_${mart}`, {
      columns: 'rowid AS id',
      where: `marts.${mart} SEMI JOIN touched_days USING (${DAY_KEY.join(', ')})`,
    })
}
