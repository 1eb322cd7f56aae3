// Represents values in PostgreSQL, which can hold less than DuckDB: no NUL in a text, no text of any length in an index, fewer years.
// The package already has the values as PostgreSQL will hold them, so that a comparison with the warehouse finds them equal.
import type { TableColumn } from '../../../catalog/ddl.ts'
import { quoteName } from '../../../catalog/layout.ts'

type Typed = Pick<TableColumn, 'name' | 'sqlType'>

const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  'VARCHAR[]': 'text[]',
  // The text as it is: jsonb would sort keys, refuse some numbers, and not be equal to the warehouse's.
  JSON: 'json',
  BOOLEAN: 'boolean',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  DOUBLE: 'double precision',
  DATE: 'date',
  TIMESTAMPTZ: 'timestamptz',
}

/** Returns the type of a column in PostgreSQL. @throws Error for a type that no column has had so far */
export function columnType(sqlType: string): string {
  const type = TYPES[sqlType]
  if (type === undefined) throw new Error(`${sqlType} has no type in PostgreSQL: add it to representation.ts`)
  return type
}

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

/** Returns the escape of NUL, which json accepts and jsonb refuses. Between the replacements, no control character is part of a JSON text. */
const json = (value: string): string =>
  `CASE WHEN contains(${value}::VARCHAR, '\\u0000')
    THEN replace(replace(replace(${value}::VARCHAR, '\\\\', chr(1)), '\\u0000', '\\ufffd'), chr(1), '\\\\')::JSON ELSE ${value} END`

/** Years from 1 to 9999: PostgreSQL's drivers cannot read others. A key is never NULL, so it becomes the nearest time. */
const inYears = (value: string, isKey: boolean, [first, last]: readonly [string, string]): string =>
  isKey
    ? `greatest(least(${value}, ${last}), ${first})`
    : `CASE WHEN ${value} BETWEEN ${first} AND ${last} THEN ${value} END`

const DAYS = [`DATE '0001-01-01'`, `DATE '9999-12-31'`] as const
const TIMES = [`TIMESTAMPTZ '0001-01-01T00:00:00Z'`, `TIMESTAMPTZ '9999-12-31T23:59:59.999999Z'`] as const

export interface Representation {
  /** Names of the columns that are part of any table's key. */
  ids: ReadonlySet<string>
  /** The column is part of the key of its own table. */
  isKey: boolean
}

/** Returns the SQL of `value`, of that column, as PostgreSQL can hold it. */
export function representedValue(value: string, column: Typed, { ids, isKey }: Representation): string {
  switch (column.sqlType) {
    case 'VARCHAR':
      return ids.has(column.name) ? id(value) : text(value)
    case 'VARCHAR[]':
      return `list_transform(${value}, x -> ${text('x')})`
    case 'JSON':
      return json(value)
    case 'DATE':
      return inYears(value, isKey, DAYS)
    case 'TIMESTAMPTZ':
      return inYears(value, isKey, TIMES)
    default:
      return value
  }
}

/** Returns the SQL of a stored value in the type of the package. */
export const storedValue = ({ name, sqlType }: Typed): string => `${quoteName(name)}::${sqlType}`
