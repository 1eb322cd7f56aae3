// What the warehouse has about people: counts by table, their rows for an answer to a request for access, and mentions in
// rows of others.
import { CONTACT_COLUMNS } from '../catalog/contacts.ts'
import { quoteName, quoteText } from '../catalog/layout.ts'
import { forgottenAs, type Remembered } from '../landing/tombstones.ts'
import type { Writer } from '../warehouse/connection.ts'
import { aboutForgotten } from '../warehouse/maintenance/forgotten-records.ts'

type Reader = Pick<Writer, 'rows'>

/** A table of `main` and its columns of text. */
interface TextTable {
  table: string
  columns: string[]
  texts: string[]
}

/** Returns the tables whose rows are about records; the bookkeeping names only files. */
async function recordTables({ rows }: Reader): Promise<TextTable[]> {
  const found = await rows<{ table: string; name: string; type: string }>(
    `SELECT c.table_name AS "table", c.column_name AS name, c.data_type AS type FROM information_schema.columns c
     JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
     WHERE c.table_schema = 'main' AND t.table_type = 'BASE TABLE' AND NOT starts_with(c.table_name, '_') ORDER BY ALL`,
  )
  const tables = new Map<string, TextTable>()
  for (const { table, name, type } of found) {
    const known = tables.get(table) ?? { table, columns: [], texts: [] }
    known.columns.push(name)
    if (type === 'VARCHAR' || type === 'JSON') known.texts.push(name)
    tables.set(table, known)
  }
  return [...tables.values()]
}

/** Returns the SQL condition for a table's rows about the people. */
async function conditionOf(reader: Reader, about: Remembered, { table, columns }: TextTable): Promise<string> {
  const conditions: string[] = []
  if (columns.includes('conversation_id') && about.conversations.length > 0) {
    const hasAgent = columns.includes('agent_id')
    const keys = about.conversations.map(({ workspaceId, agentId, id }) =>
      [workspaceId, ...(hasAgent ? [agentId] : []), id].map(quoteText).join(', '),
    )
    conditions.push(
      `(workspace_id, ${hasAgent ? 'agent_id, ' : ''}conversation_id) IN (${keys.map(key => `(${key})`).join(', ')})`,
    )
  }
  if (CONTACT_COLUMNS[table]) conditions.push(await aboutForgotten(reader, forgottenAs(about), table))
  return conditions.length === 0 ? 'false' : `coalesce(${conditions.join(' OR ')}, false)`
}

/**
 * Returns a pattern of the people's addresses and numbers, the latter with any punctuation; ids would find anything. One
 * pattern takes a tenth of the time of removing the punctuation.
 */
function patternOf({ identifiers }: Remembered): string | null {
  const patterns = identifiers.flatMap(identifier => {
    const [kind, ...rest] = identifier.split(':') as [string, ...string[]]
    const value = rest.join(':')
    if (kind === 'email') return [value.replaceAll(/[!-/:-@[-^`{-~]/g, '\\$&')]
    return kind === 'phone' ? [[...value.slice(1)].join('[^0-9a-z"]*')] : []
  })
  return patterns.length === 0 ? null : `(?i)${patterns.join('|')}`
}

/** What a table has of people. */
export interface StoredAbout {
  table: string
  /** Number of rows about them. */
  rows: number
  /** Number of rows about others, or about nobody, in which an address or a number of theirs occurs. */
  mentions: number
}

/** Returns the tables that have something about the people. */
export async function storedAbout(reader: Reader, about: Remembered): Promise<StoredAbout[]> {
  const found: StoredAbout[] = []
  const pattern = patternOf(about)
  for (const table of await recordTables(reader)) {
    const own = await conditionOf(reader, about, table)
    const text = `concat_ws(' ', ${table.texts.map(quoteName).join(', ')})`
    const mentions = pattern === null ? 'false' : `NOT ${own} AND regexp_matches(${text}, ${quoteText(pattern)})`
    const [row] = await reader.rows<{ rows: number; mentions: number }>(
      `SELECT count(*) FILTER (${own})::DOUBLE AS "rows", count(*) FILTER (${mentions})::DOUBLE AS mentions FROM ${quoteName(table.table)}`,
    )
    if (row!.rows + row!.mentions > 0) found.push({ table: table.table, ...row! })
  }
  return found
}

/** Yields the rows about the people, by table, each as a JSON text. */
export async function* rowsAbout(reader: Reader, about: Remembered): AsyncGenerator<{ table: string; row: string }> {
  for (const table of await recordTables(reader)) {
    const own = await conditionOf(reader, about, table)
    for (const { row } of await reader.rows<{ row: string }>(
      `SELECT to_json(t)::VARCHAR AS row FROM (SELECT * FROM ${quoteName(table.table)} WHERE ${own}) t`,
    ))
      yield { table: table.table, row }
  }
}
