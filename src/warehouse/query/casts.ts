// A SELECT's answer, cast to types that its taker has. DuckDB casts, in a SELECT around the caller's, since it knows its own types
// best: what the Node client makes of a UNION, a VARIANT or a struct without names is not what they hold.

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
import { uniqueNames } from './column-names.ts'
import { type Guarded, prepareGuarded } from './guard/guard.ts'
import { utcColumns } from './utc-columns.ts'

/**
 * `rows`: every value can be read as a cell. `columns`: only types that Arrow and Parquet both have, so that a column has the same
 * one in either: HUGEINT, which every sum of integers is, becomes DECIMAL(38,0) (Parquet's writer would make a DOUBLE of it); what
 * neither has is text as DuckDB prints it, JSON among it. Times of the warehouse become TIMESTAMPTZ, which marks them as UTC.
 */
export type ResultLayout = 'rows' | 'columns'

/** Types that need no cast, by taker; nested ones, DECIMAL and VARCHAR apart. */
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
const AS_THEY_ARE: Record<ResultLayout, ReadonlySet<DuckDBTypeId>> = {
  rows: new Set([
    ...COMMON,
    DuckDBTypeId.HUGEINT,
    DuckDBTypeId.UHUGEINT,
    DuckDBTypeId.TIMESTAMP_S,
    DuckDBTypeId.TIMESTAMP_MS,
  ]),
  columns: new Set(COMMON),
}

const OTHERWISE: Partial<Record<DuckDBTypeId, string>> = {
  [DuckDBTypeId.HUGEINT]: 'DECIMAL(38,0)',
  [DuckDBTypeId.TIMESTAMP_S]: 'TIMESTAMP',
  [DuckDBTypeId.TIMESTAMP_MS]: 'TIMESTAMP',
}

/** Values that tell their own type: as text they would lose it. */
const SELF_DESCRIBING: ReadonlySet<DuckDBTypeId> = new Set([DuckDBTypeId.UNION, DuckDBTypeId.VARIANT])

/** The type to cast to, as SQL. */
function target(type: DuckDBType, taker: ResultLayout): string {
  const inner = (of: DuckDBType) => target(of, taker)
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
      return `${inner((type as DuckDBListType).valueType)}[]`
    case DuckDBTypeId.ARRAY: {
      const { valueType, length } = type as DuckDBArrayType
      return `${inner(valueType)}[${taker === 'rows' ? length : ''}]`
    }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType
      return `MAP(${inner(keyType)}, ${inner(valueType)})`
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType
      // What `row(1, 2)` makes has no names; its values are called by their number.
      const fields = entryNames.map((name, at) => `${quoteName(name || `${at + 1}`)} ${inner(entryTypes[at]!)}`)
      return `STRUCT(${fields.join(', ')})`
    }
    default:
      if (AS_THEY_ARE[taker].has(type.typeId)) return type.toString()
      if (taker === 'rows' && (type.alias === 'JSON' || SELF_DESCRIBING.has(type.typeId))) return 'JSON'
      return (taker === 'columns' && OTHERWISE[type.typeId]) || 'VARCHAR'
  }
}

/** False where a value of the type can be taken as it is. */
function needsCast(type: DuckDBType, taker: ResultLayout): boolean {
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
      return needsCast((type as DuckDBListType).valueType, taker)
    case DuckDBTypeId.ARRAY:
      // DuckDB 1.5 writes arrays among which is a NULL so that other readers of Parquet refuse the file; lists it writes well.
      return taker === 'columns' || needsCast((type as DuckDBArrayType).valueType, taker)
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType
      return needsCast(keyType, taker) || needsCast(valueType, taker)
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType
      return entryNames.includes('') || entryTypes.some(entry => needsCast(entry, taker))
    }
    case DuckDBTypeId.VARCHAR:
      return taker === 'columns' && type.alias !== undefined
    case DuckDBTypeId.ENUM:
    case DuckDBTypeId.UUID:
      return taker === 'columns'
    default:
      return !AS_THEY_ARE[taker].has(type.typeId)
  }
}

interface SourceColumn {
  name: string
  type: DuckDBType
  /** A time of the warehouse, and so UTC. */
  stored: boolean
}

function castOf(column: string, { type, stored }: SourceColumn, taker: ResultLayout): string {
  if (taker === 'columns' && stored) return `${column} AT TIME ZONE 'UTC'`
  const cast = `CAST(${column} AS ${target(type, 'rows')})`
  // A VARIANT that is NULL would become the `null` of JSON.
  const present = type.typeId === DuckDBTypeId.VARIANT ? `CASE WHEN ${column} IS NOT NULL THEN ${cast} END` : cast
  const readable = needsCast(type, 'rows') ? present : column
  return taker === 'columns' && needsCast(type, taker) ? `CAST(${readable} AS ${target(type, taker)})` : readable
}

/** The caller's SELECT in one of ours that casts what needs it; null where nothing does. The caller's first line is the second. */
function castSelect(sql: string, columns: SourceColumn[], taker: ResultLayout): string | null {
  const names = columns.map(({ name }) => name)
  const given = taker === 'columns' ? uniqueNames(names) : names
  const needed = columns.map(({ type, stored }) => needsCast(type, taker) || (stored && taker === 'columns'))
  if (!needed.includes(true) && given.every((name, at) => name === names[at])) return null
  const casts = columns.map((column, at) => `${castOf(`#${at + 1}`, column, taker)} AS ${quoteName(given[at]!)}`)
  return `SELECT ${casts.join(', ')} FROM (\n${sql}\n)`
}

/** A caller's statement, ready to run for its taker. */
export interface Prepared {
  statement: DuckDBPreparedStatement
  columns: SourceColumn[]
  /** What is to run instead of the caller's SQL; null where that can run as it is. */
  cast: string | null
}

/**
 * Prepares what `guard` let through: the caller's SQL by itself first, so that an error points into it.
 *
 * @throws SQL_INVALID with DuckDB's message where a name is unknown or a type does not fit.
 */
export async function prepareCast(
  taker: ResultLayout,
  connection: DuckDBConnection,
  guarded: Guarded,
): Promise<Prepared> {
  const statement = await prepareGuarded(connection, guarded)
  const types = Array.from({ length: statement.columnCount }, (_, at) => statement.columnType(at))
  const hasTimes = guarded.kind === 'select' && types.some(({ typeId }) => typeId === DuckDBTypeId.TIMESTAMP)
  const stored = hasTimes ? await utcColumns(connection, guarded.sql) : []
  const columns = types.map((type, at) => ({ name: statement.columnName(at), type, stored: stored[at] ?? false }))
  return { statement, columns, cast: guarded.kind === 'select' ? castSelect(guarded.sql, columns, taker) : null }
}
