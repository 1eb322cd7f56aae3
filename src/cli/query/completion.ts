// Completes SQL at the cursor: schemas, tables, columns and keywords.
import { writtenName } from '../../catalog/layout.ts'
import type { QueryResult } from '../../warehouse/query/results.ts'

/** A table with its columns, or with an empty name: the keywords. */
interface Named {
  schema: string
  table: string
  names: string[]
}

export const LIST_NAMES = `SELECT schema_name, table_name, string_agg(column_name, chr(10) ORDER BY column_index)
FROM duckdb_columns() WHERE NOT internal AND database_name = current_database() GROUP BY ALL
UNION ALL SELECT '', '', string_agg(keyword_name, chr(10)) FROM duckdb_keywords() ORDER BY ALL`

/** Reads the answer to LIST_NAMES. */
export async function readNames(result: QueryResult): Promise<Named[]> {
  const found: Named[] = []
  for await (const { rows, columns } of result.batches)
    for (let row = 0; row < rows; row++) {
      const [schema = '', table = '', names = ''] = columns.map(cells => String(cells[row]))
      found.push({ schema, table, names: names.split('\n') })
    }
  return found
}

const PATH = /[\w"]*(?:\.[\w"]*)*$/
const AFTER_TABLE_WORD = /\b(?:from|join|describe)\s+[\w".]*$/i
const MENTIONED = /\b(?:from|join|describe)\s+([\w".]+)(?:\s+(?:as\s+)?([\w"]+))?/gi

const pathOf = ({ schema, table }: Named): string =>
  schema === 'main' ? writtenName(table) : `${writtenName(schema)}.${writtenName(table)}`

/** Returns the possible texts of the word before the cursor, and that word. `statement` may continue after the cursor. */
export function complete(before: string, statement: string, all: readonly Named[]): [hits: string[], word: string] {
  const word = PATH.exec(before)![0]
  const tables = all.filter(({ table }) => table !== '')
  const mentioned = [...statement.matchAll(MENTIONED)].flatMap(([, path = '', alias = path]) => {
    const table = tables.find(one => pathOf(one).toLowerCase() === path.toLowerCase())
    return table ? [{ ...table, path, alias }] : []
  })
  const columns = mentioned.flatMap(({ names, ...table }) =>
    names
      .map(writtenName)
      .flatMap(name => [name, ...[table.path, table.alias, table.table].map(of => `${of}.${name}`)]),
  )
  // Keywords continue in the case in which they were begun.
  const keywords = all.flatMap(({ table, names }) => (table === '' && word !== '' ? names : []))
  const inCase = keywords.map(name => (/[a-z]/.test(word) ? name.toLowerCase() : name.toUpperCase()))
  const possible = AFTER_TABLE_WORD.test(before)
    ? tables.map(pathOf)
    : [...columns, ...inCase, ...(word === '' ? [] : tables.map(pathOf))]
  const hits = [...new Set(possible)].filter(text => text.toLowerCase().startsWith(word.toLowerCase()))
  // A name with a prefix is offered once the prefix is complete.
  const next = hits.map(text => /^[^.]*\./.exec(text.slice(word.length))?.[0] ?? text.slice(word.length))
  return [[...new Set(hits.map((text, at) => text.slice(0, word.length) + next[at]!))], word]
}
