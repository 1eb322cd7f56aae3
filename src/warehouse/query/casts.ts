// Casts a SELECT's result to types that the answer's format has. DuckDB does the casting, in a SELECT around the caller's, because the Node
// client would lose values of a UNION, a VARIANT or a struct without names.

import {
  type DuckDBArrayType,
  type DuckDBConnection,
  type DuckDBListType,
  type DuckDBMapType,
  type DuckDBPreparedStatement,
  type DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api'
import { quoteName } from '../../catalog/layout.ts'
import { type Guarded, prepareGuarded } from './guard/guard.ts'
import { uniqueNames } from './results.ts'

/**
 * `rows`: every value can be read as a cell. `columns`: only types that both Arrow and Parquet have, so that a column has the same type
 * in either. HUGEINT, the type of every sum of integers, becomes BIGINT, where DuckDB's Parquet writer would write DOUBLE; larger values are
 * refused (ADR 2). Types that either lacks, JSON among them, become text as DuckDB prints it.
 */
export type ResultLayout = 'rows' | 'columns'

/** Types that need no cast in either layout; nested types, DECIMAL and VARCHAR are handled below. */
const COMMON = [
  DuckDBTypeId.BOOLEAN,
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_NS,
  DuckDBTypeId.TIMESTAMP_TZ,
  DuckDBTypeId.BLOB,
]
const UNCHANGED: Record<ResultLayout, ReadonlySet<DuckDBTypeId>> = {
  rows: new Set([
    ...COMMON,
    DuckDBTypeId.HUGEINT,
    DuckDBTypeId.UHUGEINT,
    DuckDBTypeId.TIMESTAMP_S,
    DuckDBTypeId.TIMESTAMP_MS,
  ]),
  columns: new Set(COMMON),
}

const CAST_TO: Partial<Record<DuckDBTypeId, string>> = {
  [DuckDBTypeId.HUGEINT]: 'BIGINT',
  [DuckDBTypeId.TIMESTAMP_S]: 'TIMESTAMP',
  [DuckDBTypeId.TIMESTAMP_MS]: 'TIMESTAMP',
}

/** Types whose values carry their own type, which text would lose. */
const SELF_DESCRIBING: ReadonlySet<DuckDBTypeId> = new Set([DuckDBTypeId.UNION, DuckDBTypeId.VARIANT])

/** The type to cast to, as SQL. */
function target(type: DuckDBType, layout: ResultLayout): string {
  const inner = (of: DuckDBType) => target(of, layout)
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
      return `${inner((type as DuckDBListType).valueType)}[]`
    case DuckDBTypeId.ARRAY: {
      const { valueType, length } = type as DuckDBArrayType
      return `${inner(valueType)}[${layout === 'rows' ? length : ''}]`
    }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType
      return `MAP(${inner(keyType)}, ${inner(valueType)})`
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType
      // The fields of `row(1, 2)` have no names; they are called by their position.
      const fields = entryNames.map((name, at) => `${quoteName(name || `${at + 1}`)} ${inner(entryTypes[at]!)}`)
      return `STRUCT(${fields.join(', ')})`
    }
    default:
      if (UNCHANGED[layout].has(type.typeId)) return type.toString()
      if (layout === 'rows' && (type.alias === 'JSON' || SELF_DESCRIBING.has(type.typeId))) return 'JSON'
      return (layout === 'columns' && CAST_TO[type.typeId]) || 'VARCHAR'
  }
}

/** False when a value of the type can be read unchanged. */
function needsCast(type: DuckDBType, layout: ResultLayout): boolean {
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
      return needsCast((type as DuckDBListType).valueType, layout)
    case DuckDBTypeId.ARRAY:
      // Other readers of Parquet reject a column of arrays with a NULL as DuckDB 1.5 writes it; lists are written correctly.
      return layout === 'columns' || needsCast((type as DuckDBArrayType).valueType, layout)
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType
      return needsCast(keyType, layout) || needsCast(valueType, layout)
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType
      return entryNames.includes('') || entryTypes.some(entry => needsCast(entry, layout))
    }
    case DuckDBTypeId.VARCHAR:
      return layout === 'columns' && type.alias !== undefined
    case DuckDBTypeId.ENUM:
    case DuckDBTypeId.UUID:
      return layout === 'columns'
    default:
      return !UNCHANGED[layout].has(type.typeId)
  }
}

interface SourceColumn {
  name: string
  type: DuckDBType
}

function castOf(column: string, { type }: SourceColumn, layout: ResultLayout): string {
  const cast = `CAST(${column} AS ${target(type, 'rows')})`
  // Without the CASE, a NULL VARIANT would become JSON's `null`.
  const present = type.typeId === DuckDBTypeId.VARIANT ? `CASE WHEN ${column} IS NOT NULL THEN ${cast} END` : cast
  const readable = needsCast(type, 'rows') ? present : column
  return layout === 'columns' && needsCast(type, layout) ? `CAST(${readable} AS ${target(type, layout)})` : readable
}

/** A SELECT that casts the columns of the caller's, which begins on its second line; null when no column needs a cast. */
function castSelect(sql: string, columns: SourceColumn[], layout: ResultLayout): string | null {
  const names = columns.map(({ name }) => name)
  const given = layout === 'columns' ? uniqueNames(names) : names
  const needed = columns.map(({ type }) => needsCast(type, layout))
  if (!needed.includes(true) && given.every((name, at) => name === names[at])) return null
  const casts = columns.map((column, at) => `${castOf(`#${at + 1}`, column, layout)} AS ${quoteName(given[at]!)}`)
  return `SELECT ${casts.join(', ')} FROM (\n${sql}\n)`
}

/** A caller's statement, ready to run. */
export interface Prepared {
  statement: DuckDBPreparedStatement
  columns: SourceColumn[]
  /** The SQL to run instead of the caller's; null when that can run unchanged. */
  cast: string | null
}

/**
 * Prepares guarded SQL as the caller wrote it, so that an error points into it, and derives the SQL that casts its columns.
 *
 * @throws SQL_INVALID with DuckDB's message when a name is unknown or a type does not fit.
 */
export async function prepareCast(
  layout: ResultLayout,
  connection: DuckDBConnection,
  guarded: Guarded,
): Promise<Prepared> {
  const statement = await prepareGuarded(connection, guarded)
  const types = Array.from({ length: statement.columnCount }, (_, at) => statement.columnType(at))
  const columns = types.map((type, at) => ({ name: statement.columnName(at), type }))
  return { statement, columns, cast: guarded.kind === 'select' ? castSelect(guarded.sql, columns, layout) : null }
}
