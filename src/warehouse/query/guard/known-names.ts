// The names of the tables and views of a database that does not change, read once. Looking each name up in the catalog takes
// most of the processor time of a small query.
import type { DuckDBConnection } from '@duckdb/node-api'
import type { TableName } from './tree.ts'

export interface KnownNames {
  /** Name of the database in lower case. Names of other attached databases are unknown. */
  database: string
  /** `schema.table` in lower case, for the schemas that queries may read. */
  tables: ReadonlySet<string>
  /** Names of DuckDB's own views, in lower case. */
  internal: ReadonlySet<string>
  /** Names of all schemas and databases with tables of ours, except `main`, in lower case. */
  places: ReadonlySet<string>
  /** True if the database has only views on a part of another one, whose tables queries must not reach. */
  isPartial: boolean
}

const SCHEMAS = ['main', 'marts', 'models', 'information_schema', 'pg_catalog']

export async function readKnownNames(connection: DuckDBConnection, isPartial: boolean): Promise<KnownNames> {
  const reader = await connection.runAndReadAll(`
    SELECT lower(current_database()), lower(d), lower(s), lower(t), internal FROM (
      SELECT database_name AS d, schema_name AS s, table_name AS t, internal FROM duckdb_tables()
      UNION ALL SELECT database_name, schema_name, view_name, internal FROM duckdb_views())`)
  const found = reader.getRows() as [string, string, string, string, boolean][]
  const database = found[0]![0]
  const own = found.filter(([, , , , internal]) => !internal)
  // A view of DuckDB shows tables of all databases.
  const readable = found.filter(([, of, schema, , internal]) => {
    return SCHEMAS.includes(schema) && (internal ? !isPartial : of === database)
  })
  return {
    database,
    tables: new Set(readable.map(([, , schema, table]) => `${schema}.${table}`)),
    internal: new Set(found.flatMap(([, , , table, internal]) => (internal ? [table] : []))),
    places: new Set(own.flatMap(([, of, schema]) => [of, schema]).filter(place => place !== 'main')),
    isPartial,
  }
}

/** True if the name can only mean a table that queries may read, or a name that the query itself defines. */
export function isKnownName({ database, tables, internal, isPartial }: KnownNames, name: TableName): boolean {
  const [catalog, schema, table] = [name.catalog, name.schema, name.table].map(part => part.toLowerCase())
  if (catalog) return (catalog === database || (catalog === 'system' && !isPartial)) && tables.has(`${schema}.${table}`)
  if (schema) return tables.has(`${schema}.${table}`) || (schema === database && tables.has(`main.${table}`))
  return !isPartial || tables.has(`main.${table}`) || !internal.has(table!)
}
