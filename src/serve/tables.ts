// The tables of the snapshot with their columns, as far as a token's SQL sees them.
import { z } from '@hono/zod-openapi'
import type { Scope } from './access/tokens.ts'
import { type ColumnClasses, isPlain } from './column-classes.ts'
import type { DeclaredQuery, SnapshotReaders, SnapshotState } from './readers/snapshot-readers.ts'

const PERSONAL =
  'Class of personal data: identity, content, staff or device; null for none. The policy may have hashed or dropped the values'

const about = z.string().nullable()
const personalData = z.string().nullable().openapi({ description: PERSONAL })
const column = z.object({ name: z.string(), type: z.string(), about, personalData })
export const describedTable = z.object({ name: z.string(), about, columns: z.array(column) }).openapi('Table')

export type DescribedTable = z.infer<typeof describedTable>

interface ColumnRow extends Omit<z.infer<typeof column>, 'personalData'> {
  table: string
  tableAbout: string | null
}

/** Comments come from the publication, so that models of the user have them too. */
const COLUMNS = `
  SELECT CASE t.schema_name WHEN 'main' THEN '' ELSE t.schema_name || '.' END || t.table_name AS "table", t.comment AS "tableAbout",
    c.column_name AS name, c.data_type AS type, c.comment AS about
  FROM duckdb_tables() t JOIN duckdb_columns() c USING (database_name, schema_name, table_name)
  WHERE t.database_name = 'snapshot' AND t.table_name <> '_publication'
  ORDER BY t.schema_name = 'main', t.schema_name, t.table_name, c.column_index`

export async function tablesSeen(
  readers: Pick<SnapshotReaders, 'rows'>,
  classes: ColumnClasses,
  scopes: ReadonlySet<Scope>,
): Promise<{ tables: DescribedTable[] } & SnapshotState> {
  const { rows, ...state } = await readers.rows<ColumnRow>(COLUMNS)
  const tables = new Map<string, DescribedTable>()
  for (const { table: name, tableAbout, ...shown } of rows) {
    const pii = classes.get(name)?.get(shown.name) ?? 'content'
    if (!isPlain(pii) && !scopes.has('content')) continue
    const known = tables.get(name) ?? { name, about: tableAbout, columns: [] }
    known.columns.push({ ...shown, personalData: isPlain(pii) ? null : pii })
    tables.set(name, known)
  }
  return { tables: [...tables.values()], ...state }
}

/** True if the snapshot has the mart: a target may leave it out. */
export async function hasMart(query: DeclaredQuery, name: string): Promise<boolean> {
  const { rows } = await query(`FROM duckdb_tables() WHERE schema_name = 'marts' AND table_name = '${name}'`)
  return rows.length > 0
}

/** Returns the rows of SQL that reads the mart; none if the snapshot does not have it. */
export const martRows = async <R>(query: DeclaredQuery, mart: string, sql: string): Promise<R[]> =>
  (await hasMart(query, mart)) ? (await query<R>(sql)).rows : []
