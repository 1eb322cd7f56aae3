// Full-text search in a target's transcripts (`fct_turns.text`): an `fts` index of DuckDB in a snapshot, a GIN index in PostgreSQL.
import { quoteName, quoteText } from '../catalog/layout.ts'
import type { SearchLanguage } from '../config/target-settings.ts'
import type { TargetDatabase } from './target-database.ts'

/** The searched mart. `fts` needs its key in one column. */
export const SEARCHED = { table: 'marts.fct_turns', name: 'fct_turns', key: 'turn_key', text: 'text' } as const

/** Parameters of an index's macros. DuckDB lists the macros without these defaults. */
const PARAMETERS: Record<string, string> = {
  match_bm25: 'docname, query_string, fields := NULL, k := 1.2, b := 0.75, conjunctive := 0',
  tokenize: 's',
}

/**
 * Creates or replaces the index in the attached database `catalog`, inside the caller's transaction. Words are letters
 * and digits of any script, without accents; the default covers only a to z.
 *
 * The index's macros name the catalog, which readers attach under other names, so they are created again without it.
 */
export async function indexSnapshot(
  database: TargetDatabase,
  catalog: string,
  language: SearchLanguage,
): Promise<void> {
  const { table, key, text } = SEARCHED
  const stemmer = language === 'simple' ? 'none' : language
  await database.run(`PRAGMA create_fts_index(${[`${catalog}.${table}`, key, text].map(quoteText).join(', ')},
    stemmer = ${quoteText(stemmer)}, stopwords = 'none', ignore = '[^\\p{L}\\p{N}]+', overwrite = 1)`)
  const schema = `fts_${table.replace('.', '_')}`
  const macros = await database.rows<{ name: string; definition: string }>(
    `SELECT function_name AS name, macro_definition AS definition FROM duckdb_functions()
     WHERE database_name = ${quoteText(catalog)} AND schema_name = ${quoteText(schema)}`,
  )
  // Otherwise DuckDB resolves a macro's names in the database of this process.
  await database.run(`USE ${catalog}`)
  for (const { name, definition } of macros)
    await database.run(
      `CREATE OR REPLACE MACRO ${schema}.${name}(${PARAMETERS[name]!}) AS ${definition.replaceAll(`"${catalog}".`, '')}`,
    )
  await database.run('USE memory')
}

/**
 * Returns statements that drop the index in PostgreSQL and create it again, with the expression that a reader's query must
 * contain. `place` is the SQL of the table. PostgreSQL refuses documents larger than a megabyte, so the publication then fails.
 */
export const postgresIndex = (place: { schema: string; table: string }, language: SearchLanguage | null): string[] => {
  const name = `${SEARCHED.name}_search`
  return [
    `DROP INDEX IF EXISTS ${quoteName(place.schema)}.${name}`,
    ...(language === null
      ? []
      : [
          `CREATE INDEX ${name} ON ${place.table} USING gin (to_tsvector(${quoteText(language)}, left(${SEARCHED.text}, 100000)))`,
        ]),
  ]
}
