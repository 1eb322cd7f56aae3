// Which rows a refresh reads. The SELECTs of `sql/marts` read tables through the macros `scoped` and `in_groups`, which return all rows: a whole
// build. A refresh replaces the calls by the rows of conversations that changed, and of the groups of daily marts that these touched.
//
// The rows of conversations are found once, by a scan of the key columns alone; then their row ids fetch the columns that marts read, for which
// DuckDB skips the vectors without one of them. At 300,000 conversations, joining by key took 57 ms for fifteen columns of 50 conversations, and
// 720 ms for all columns.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { type Table, tablesOf } from '../../catalog/ddl.ts'
import { isNumbered, type Layout, layoutOf, quoteName } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'
import { type Mart, marts } from './declarations.ts'

export const CONVERSATION_KEY = layoutOf(conversation).key

const isOfConversation = (layout: Layout): boolean =>
  isNumbered(layout) && layout.key.join() === CONVERSATION_KEY.join()

const SCOPED = /\bscoped\('(\w+)'\)/g
const IN_GROUPS = /\bin_groups\('marts\.(\w+)'\)/g

/** Makes the macros return all rows. */
export async function defineMacros(writer: Writer): Promise<void> {
  for (const macro of ['scoped', 'in_groups'])
    await writer.run(`CREATE OR REPLACE TEMP MACRO ${macro}(name) AS TABLE FROM query_table(name)`)
}

const byIds = (table: string, ids: string): string => `${table} t SEMI JOIN ${ids} i ON t.rowid = i.id`

/** A SELECT over the rows in scope. */
export const selectInScope = (select: string): string =>
  select
    .replace(SCOPED, (_, table: string) => `scoped_${table}`)
    .replace(IN_GROUPS, (_, mart: string) => `(SELECT t.* FROM ${byIds(`marts.${mart}`, `grouped_${mart}`)})`)

const named = (pattern: RegExp, select: string): string[] => [...select.matchAll(pattern)].map(([, name]) => name!)

/** Finds whom conversations name (`people.ts`). */
export const PEOPLE_SELECT = 'refresh/people_in_conversations'

/** All SELECTs over rows in scope. */
const selects = (): string[] =>
  marts()
    .map(({ select }) => select)
    .concat(sqlFile(PEOPLE_SELECT))

/** The columns of a table that these SELECTs read: those whose names are words of one, and the record's number. */
function columnsRead({ name, columns }: Table): string {
  const reading = selects().filter(select => named(SCOPED, select).includes(name))
  const words = new Set([...reading.join('\n').replace(/--.*$/gm, '').matchAll(/\w+/g)].map(([word]) => word))
  words.add('_record')
  return columns
    .filter(column => words.has(column.name))
    .map(column => `t.${quoteName(column.name)}`)
    .join(', ')
}

const collect = (writer: Writer, table: string, select: string): Promise<void> =>
  writer.run(`CREATE OR REPLACE TEMP TABLE ${table} AS ${select}`)

/** Collects the row ids of a table's rows. @returns SQL of these rows, named t */
async function idsOf(writer: Writer, { table, where }: { table: string; where: string }): Promise<string> {
  await collect(writer, 'row_ids', `SELECT rowid AS id FROM ${where}`)
  return byIds(table, 'row_ids')
}

/**
 * Collects the rows of conversations in every table that a mart reads. `conversations`: a range of record numbers, or a relation of keys.
 */
export async function scopeConversations(
  writer: Writer,
  conversations: { numbers: string } | { keys: string },
): Promise<void> {
  const key = CONVERSATION_KEY.join(', ')
  const own = `scoped_${conversation.table}`
  const left = new Set(selects().flatMap(select => named(SCOPED, select)))
  const scope = async (table: Table, rows: string): Promise<void> => {
    left.delete(table.name)
    await collect(writer, `scoped_${table.name}`, `SELECT ${columnsRead(table)} FROM ${rows}`)
  }
  const layouts = RECORD_TYPES.map(type => layoutOf(type)).filter(isOfConversation)
  for (const layout of layouts) {
    const [record, ...children] = tablesOf(layout)
    const isOwn = record!.name === conversation.table
    const read = children.filter(({ name }) => left.has(name))
    if (isOwn && 'numbers' in conversations) await scope(record!, `${record!.name} t WHERE ${conversations.numbers}`)
    else if (isOwn || left.has(record!.name) || read.length > 0) {
      const keys = isOwn && 'keys' in conversations ? conversations.keys : own
      const where = `${record!.name} SEMI JOIN ${keys} USING (${key})`
      await scope(record!, await idsOf(writer, { table: record!.name, where }))
    }
    // Numbers take a third of the time of the keys.
    for (const table of read) await scope(table, `${table.name} t SEMI JOIN scoped_${record!.name} USING (_record)`)
  }
  for (const table of left)
    await collect(
      writer,
      `scoped_${table}`,
      `SELECT t.* FROM ${await idsOf(writer, { table, where: `${table} SEMI JOIN ${own} USING (${key})` })}`,
    )
}

/** The groups of a daily mart whose rows are computed again: the values of its grain. */
export const touchedGroups = ({ name }: Mart): string => `touched_${name}`

/** Collects the row ids of the touched groups in the marts that this one is built from. */
export async function scopeGroups(writer: Writer, mart: Mart): Promise<void> {
  for (const source of new Set(named(IN_GROUPS, mart.select)))
    await collect(
      writer,
      `grouped_${source}`,
      `SELECT rowid AS id FROM marts.${source} SEMI JOIN ${touchedGroups(mart)} USING (${mart.grain.join(', ')})`,
    )
}
