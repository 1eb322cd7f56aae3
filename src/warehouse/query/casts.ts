// Casts a SELECT's result to types that the answer's format has. DuckDB casts, in a SELECT around the caller's, because
// the Node client would lose values of a UNION or a struct without names.

import {
  type DuckDBArrayType,
  type DuckDBConnection,
  type DuckDBListType,
  type DuckDBMapType,
  type DuckDBPreparedStatement,
  type DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from '@duckdb/node-api'
import { quoteName } from '../../catalog/layout.ts'
import { prepareGuarded } from './guard/guard.ts'
import { uniqueNames } from './results.ts'

/** Types whose values are read unchanged; nested types are handled below. */
const UNCHANGED: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.BOOLEAN,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_TZ,
  DuckDBTypeId.BLOB,
])

/** The smallest of these types that holds all values. Other types become text as DuckDB prints it. */
const CAST_TO: Partial<Record<DuckDBTypeId, string>> = {
  [DuckDBTypeId.TINYINT]: 'INTEGER',
  [DuckDBTypeId.SMALLINT]: 'INTEGER',
  [DuckDBTypeId.UTINYINT]: 'INTEGER',
  [DuckDBTypeId.USMALLINT]: 'INTEGER',
  [DuckDBTypeId.UINTEGER]: 'BIGINT',
  [DuckDBTypeId.UBIGINT]: 'DECIMAL(20,0)',
  // The type of every sum of integers. Arrow and Parquet lack it, so larger values are refused (ADR 2).
  [DuckDBTypeId.HUGEINT]: 'BIGINT',
  [DuckDBTypeId.FLOAT]: 'DOUBLE',
  [DuckDBTypeId.TIMESTAMP_S]: 'TIMESTAMP',
  [DuckDBTypeId.TIMESTAMP_MS]: 'TIMESTAMP',
  // Their values carry their own type, which text would lose.
  [DuckDBTypeId.UNION]: 'JSON',
}

/** Returns the type to cast to, as SQL. With `isFile`, JSON becomes text, since Parquet readers treat it differently. */
function target(type: DuckDBType, isFile: boolean): string {
  const inner = (of: DuckDBType) => target(of, isFile)
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
      return `${inner((type as DuckDBListType).valueType)}[]`
    case DuckDBTypeId.ARRAY:
      // Other Parquet readers reject a column of arrays with a NULL as DuckDB 1.5 writes it; lists are written correctly.
      return `${inner((type as DuckDBArrayType).valueType)}[]`
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType
      return `MAP(${inner(keyType)}, ${inner(valueType)})`
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType
      // The fields of `row(1, 2)` have no names, so they are named by position.
      const fields = entryNames.map((name, at) => `${quoteName(name || `${at + 1}`)} ${inner(entryTypes[at]!)}`)
      return `STRUCT(${fields.join(', ')})`
    }
    default: {
      if (UNCHANGED.has(type.typeId)) return type.toString()
      const simple = type.alias === 'JSON' ? 'JSON' : (CAST_TO[type.typeId] ?? 'VARCHAR')
      return isFile && simple === 'JSON' ? 'VARCHAR' : simple
    }
  }
}

/** Returns the name of the type, with JSON distinguished from VARCHAR. */
const nameOf = (type: DuckDBType): string => (type.alias === 'JSON' ? 'JSON' : type.toString())

interface SourceColumn {
  name: string
  type: DuckDBType
}

function castOf(column: string, { type }: SourceColumn, isFile: boolean): string {
  const cast = (value: string, to: string) => (to === nameOf(type) ? value : `CAST(${value} AS ${to})`)
  const readable = target(type, false)
  const inFile = target(type, true)
  const value = cast(column, readable)
  return isFile && inFile !== readable ? `CAST(${value} AS ${inFile})` : value
}

/** Returns a SELECT that casts the columns of the caller's, whose lines keep their numbers; null if no column needs a cast. */
function castSelect(sql: string, columns: SourceColumn[], isFile: boolean): string | null {
  const names = columns.map(({ name }) => name)
  const given = isFile ? uniqueNames(names) : names
  const casts = columns.map((column, at) => castOf(`#${at + 1}`, column, isFile))
  if (casts.every((cast, at) => cast === `#${at + 1}` && given[at] === names[at])) return null
  return `FROM (${sql}\n) SELECT ${casts.map((cast, at) => `${cast} AS ${quoteName(given[at]!)}`).join(', ')}`
}

/** Values of a statement's parameters, by position or by name. */
export type ParamValues = DuckDBValue[] | Record<string, DuckDBValue>

/** A caller's statement, ready to run. */
export interface Prepared {
  statement: DuckDBPreparedStatement
  columns: SourceColumn[]
  /** The SQL to run instead of the caller's; null if that can run unchanged. */
  cast: string | null
}

/**
 * Prepares guarded SQL as the caller wrote it, so that an error points into it, and derives the SQL that casts its columns.
 *
 * @throws SQL_INVALID with DuckDB's message when a name is unknown or a type does not fit.
 */
export async function prepareCast(
  connection: DuckDBConnection,
  guarded: string,
  { isFile = false, values }: { isFile?: boolean; values?: ParamValues | undefined } = {},
): Promise<Prepared> {
  const statement = await prepareGuarded(connection, guarded)
  if (values) statement.bind(values)
  const prepared = (_: unknown, at: number) => ({ name: statement.columnName(at), type: statement.columnType(at) })
  const columns = values
    ? await columnsOf(connection, guarded, values)
    : Array.from({ length: statement.columnCount }, prepared)
  return { statement, columns, cast: castSelect(guarded, columns, isFile) }
}

/** Returns the columns of a SELECT. Their types may depend on the values, which a prepared statement does not know. */
export async function columnsOf(
  connection: DuckDBConnection,
  select: string,
  values: ParamValues | undefined,
): Promise<SourceColumn[]> {
  const empty = await connection.run(`FROM (${select}\n) LIMIT 0`, values)
  return empty.columnNames().map((name, at) => ({ name, type: empty.columnType(at) }))
}
