// Determines which rows a refresh reads. The SELECTs of `sql/marts` read tables through the macros `scoped` and `in_groups`, which return all
// rows in a whole build. A refresh replaces the calls by the rows of changed conversations, and of the groups that these touched, such as days
// of agents.
//
// One scan of the key columns finds the rows of conversations; then their row ids fetch the columns that marts read, for which DuckDB skips
// all other vectors. At 300,000 conversations, joining by key took 57 ms for fifteen columns of 50 conversations, and 720 ms for all columns.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { isNumbered, type Layout, layoutOf, quoteName } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'
import { marts } from './declarations.ts'
import { nameLanguages } from './languages.ts'

export const CONVERSATION_KEY = layoutOf(conversation).key

const isOfConversation = (layout: Layout): boolean =>
  isNumbered(layout) && layout.key.join() === CONVERSATION_KEY.join()

const SCOPED = /\bscoped\('([\w.]+)'\)/g
export const IN_GROUPS = /\bin_groups\('([\w.]+)'\)/g

/** Makes the macros return all rows. */
export async function defineMacros(writer: Writer): Promise<void> {
  for (const macro of ['scoped', 'in_groups'])
    await writer.run(`CREATE OR REPLACE TEMP MACRO ${macro}(name) AS TABLE FROM query_table(name)`)
}

export const byIds = (table: string, ids: string): string => `${table} t SEMI JOIN ${ids} i ON t.rowid = i.id`

export interface Scope {
  /** SQL of the rows in scope, by table; marts as `marts.NAME`. */
  rows: ReadonlyMap<string, string>
  /** Tables that are known to have no row in scope. */
  empty: ReadonlySet<string>
}

/** Returns a SELECT over the rows in scope. */
export const selectInScope = (select: string, scope: Scope): string =>
  select
    .replace(SCOPED, (_, table: string) => scope.rows.get(table)!)
    .replace(IN_GROUPS, (_, table: string) => scope.rows.get(table)!)

export const named = (pattern: RegExp, select: string): string[] =>
  [...select.matchAll(pattern)].map(([, name]) => name!)

/** Query for the people that conversations name. */
export const PEOPLE_SELECT = 'refresh/people_in_conversations'

/** Returns all SELECTs over rows in scope. */
const selects = (): string[] =>
  marts()
    .map(({ select }) => select)
    .concat(sqlFile(PEOPLE_SELECT))

/** Columns of each table, by writer. The catalog defines them, so they do not change while the warehouse is open. */
const tableColumns = new WeakMap<Writer, Map<string, string[]>>()

async function columnsOf(writer: Writer, table: string): Promise<readonly string[]> {
  let known = tableColumns.get(writer)
  if (!known) {
    const rows = await writer.rows<{ name: string; columns: string[] }>(
      `SELECT table_name AS name, list(column_name) AS columns FROM duckdb_columns()
       WHERE database_name = current_database() AND schema_name = 'main' GROUP BY ALL`,
    )
    known = new Map(rows.map(({ name, columns }) => [name, columns]))
    tableColumns.set(writer, known)
  }
  return known.get(table)!
}

/**
 * Returns the SELECT list of the columns of `t` that these SELECTs read: those whose names occur as words, and the
 * record's number. Naming them takes a third of the time of `COLUMNS(lambda …)`.
 */
export async function columnsRead(writer: Writer, table: string, by: RegExp): Promise<string> {
  const reading = selects().filter(select => named(by, select).includes(table))
  const words = new Set([...reading.join('\n').replace(/--.*$/gm, '').matchAll(/\w+/g)].map(([word]) => word))
  words.add('_record')
  return (await columnsOf(writer, table))
    .filter(column => words.has(column))
    .map(column => `t.${quoteName(column)}`)
    .join(', ')
}

/** Creates a temporary table. @returns the number of its rows */
export async function created(writer: Writer, table: string, select: string): Promise<number> {
  const [row] = await writer.rows<{ Count: string }>(`CREATE OR REPLACE TEMP TABLE ${table} AS ${select}`)
  return Number(row!.Count)
}

/** Collects the row ids of a table's rows. @returns SQL of these rows as `t` */
async function idsOf(writer: Writer, { table, where }: { table: string; where: string }): Promise<string> {
  await created(writer, `ids_of_${table}`, `SELECT rowid AS id FROM ${where}`)
  return byIds(table, `ids_of_${table}`)
}

/** Conversations, given by a condition on record numbers or by a relation of keys. */
type Conversations = ({ numbers: string } | { keys: string }) & {
  /**
   * True if their rows are copied into temporary tables `scoped_TABLE`, which shortens the plans of eight SELECTs.
   * Slices of many conversations are not copied, since all copies would stay on disk until the transaction ends.
   */
  areCopied: boolean
}

/** Returns those of the tables that have no row. */
export async function emptyTables(
  { rows: select }: Pick<Writer, 'rows'>,
  tables: readonly string[],
): Promise<string[]> {
  if (tables.length === 0) return []
  const each = tables.map(table => `SELECT '${table}' AS name WHERE NOT EXISTS (FROM ${table})`)
  const rows = await select<{ name: string }>(each.join(' UNION ALL '))
  return rows.map(({ name }) => name)
}

/** Finds the rows of conversations in every table that a mart reads. */
export async function scopeConversations(writer: Writer, conversations: Conversations): Promise<Scope> {
  const { areCopied } = conversations
  const key = CONVERSATION_KEY.join(', ')
  const own = conversation.table
  const scope = new Map<string, string>()
  const empty = new Set<string>()
  const read = new Set(selects().flatMap(select => named(SCOPED, select)))
  // A fact that is built from another one reads its rows of these conversations, which are computed first.
  const facts = [...read].filter(name => name.startsWith('marts.'))
  const left = new Set([...read].filter(name => !facts.includes(name)))
  const add = async (table: string, rows: string): Promise<void> => {
    left.delete(table)
    if (areCopied) {
      const copy = `SELECT ${await columnsRead(writer, table, SCOPED)} FROM ${rows}`
      if ((await created(writer, `scoped_${table}`, copy)) === 0) empty.add(table)
    }
    scope.set(table, areCopied ? `scoped_${table}` : `(SELECT t.* FROM ${rows})`)
  }
  const addByKey = async (table: string, keys: string): Promise<void> =>
    add(table, await idsOf(writer, { table, where: `${table} SEMI JOIN ${keys} USING (${key})` }))

  for (const layout of RECORD_TYPES.map(type => layoutOf(type)).filter(isOfConversation)) {
    const { table } = layout.record
    const children = layout.children.filter(child => left.has(child.table))
    const range = table === own && 'numbers' in conversations ? ` t WHERE ${conversations.numbers}` : null
    if (range) await add(table, table + range)
    else if (table === own && 'keys' in conversations) await addByKey(table, conversations.keys)
    else if (left.has(table) || children.length > 0) await addByKey(table, scope.get(own)!)
    // Joining by number takes a third of the time of joining by key.
    for (const child of children)
      await add(child.table, child.table + (range ?? ` t SEMI JOIN ${scope.get(table)} USING (_record)`))
  }
  for (const table of left) await addByKey(table, scope.get(own)!)
  for (const fact of facts)
    scope.set(
      fact,
      areCopied
        ? fact.replace('marts.', 'fresh_')
        : `(SELECT t.* FROM ${fact} t SEMI JOIN ${scope.get(own)} USING (${key}))`,
    )
  // If rows are not copied, only tables without any row are known to have none in scope.
  const ofConversations = marts().filter(({ refresh }) => refresh === 'conversations')
  const unknown = ofConversations.flatMap(({ rowsOf }) =>
    areCopied ? rowsOf.filter(table => !scope.has(table)) : rowsOf,
  )
  for (const table of await emptyTables(writer, [...new Set(unknown)])) empty.add(table)
  await nameLanguages(writer, scope.get(own)!)
  return { rows: scope, empty }
}
