// Represents values in PostgreSQL, which can hold less than DuckDB: no NUL in a text, no text of any length in an index, fewer days.
// The package already has the values as PostgreSQL will hold them, so that a comparison with the warehouse finds them equal.

import type { TableColumn } from '../../../catalog/ddl.ts'
import { quoteName } from '../../../catalog/layout.ts'

type Typed = Pick<TableColumn, 'name' | 'sqlType'>

const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  // The text as it is: jsonb would sort keys, refuse some numbers, and not be equal to the warehouse's.
  JSON: 'json',
  BOOLEAN: 'boolean',
  SMALLINT: 'smallint',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  DOUBLE: 'double precision',
  DATE: 'date',
  TIMESTAMPTZ: 'timestamptz',
}

const DECIMAL = /^DECIMAL\((\d+),\s*(\d+)\)$/

const elementOf = (sqlType: string): string | null => (sqlType.endsWith('[]') ? sqlType.slice(0, -2) : null)

/** The type of a column in PostgreSQL; a list is an array, and what contains fields is JSON. */
export function columnType(sqlType: string): string {
  const element = elementOf(sqlType)
  const scalar = TYPES[element ?? sqlType]
  if (scalar !== undefined) return element === null ? scalar : `${scalar}[]`
  const [, digits, scale] = DECIMAL.exec(sqlType) ?? []
  return digits === undefined ? 'json' : `numeric(${digits},${scale})`
}

/** True for a list of lists or structs, a struct, or a map. */
const isNested = (sqlType: string): boolean => columnType(sqlType) === 'json' && sqlType !== 'JSON'

const REPLACEMENT = '\uFFFD'

/** An entry of an index has 2,704 bytes at most, and a key five columns. */
const ID_BYTES = 500

/** Looks for NUL first: `replace` copies each text, which took a third of the time of a package. */
const text = (value: string): string =>
  `CASE WHEN contains(${value}, chr(0)) THEN replace(${value}, chr(0), '${REPLACEMENT}') ELSE ${value} END`

/**
 * An id with a NUL, or too long for an index, is its beginning and its hash: two ids never become one. It is the same in every
 * table, so that ids join.
 */
const id = (value: string): string =>
  `CASE WHEN contains(${value}, chr(0)) OR strlen(${value}) > ${ID_BYTES}
    THEN left(${text(value)}, 100) || '…' || sha256(${value}) ELSE ${value} END`

/** The escape of NUL, which json accepts and jsonb refuses. Between the replacements, no control character is part of a JSON text. */
const json = (value: string): string =>
  `CASE WHEN contains(${value}::VARCHAR, '\\u0000')
    THEN replace(replace(replace(${value}::VARCHAR, '\\\\', chr(1)), '\\u0000', '\\ufffd'), chr(1), '\\\\')::JSON ELSE ${value} END`

/** Years from 1 to 9999: what PostgreSQL's drivers can read. */
const inYears = (value: string, time = ''): string =>
  `CASE WHEN ${value} BETWEEN '0001-01-01${time && 'T00:00:00Z'}' AND '9999-12-31${time}' THEN ${value} END`

/** A key is never NULL: the nearest day that PostgreSQL has. */
const keyDay = (value: string): string => `greatest(least(${value}, DATE '5874897-12-31'), DATE '4712-01-01 (BC)')`

const keyTime = (value: string): string =>
  `greatest(least(${value}, TIMESTAMPTZ '9999-12-31 23:59:59.999999Z'), TIMESTAMPTZ '0001-01-01T00:00:00Z')`

export interface Representation {
  /** Names of the columns that are part of any table's key. */
  ids: ReadonlySet<string>
  /** The column is part of the key of its own table. */
  isKey: boolean
}

/** SQL of `value`, of that column, as PostgreSQL can hold it. */
export function representedValue(value: string, column: Typed, { ids, isKey }: Representation): string {
  switch (column.sqlType) {
    case 'VARCHAR':
      return ids.has(column.name) ? id(value) : text(value)
    case 'VARCHAR[]':
      return `list_transform(${value}, x -> ${text('x')})`
    case 'JSON':
      return json(value)
    case 'DATE':
      return isKey ? keyDay(value) : inYears(value)
    case 'TIMESTAMPTZ':
      return isKey ? keyTime(value) : inYears(value, 'T23:59:59.999999Z')
    default:
      return isNested(column.sqlType) ? json(`to_json(${value})`) : value
  }
}

/** The type in which DuckDB writes and reads a column of PostgreSQL. */
export const packagedType = (sqlType: string): string => (isNested(sqlType) ? 'JSON' : sqlType)

/** SQL of a stored value in the type of the package. */
export function storedValue({ name, sqlType }: Typed): string {
  const value = quoteName(name)
  return `${value}::${packagedType(sqlType)}`
}
