// Represents values in PostgreSQL, which stores fewer values than DuckDB: no NUL in a text, no long text in an index, fewer years.
// The package already contains the values as PostgreSQL stores them, so that a comparison with the warehouse finds them equal.
import type { TableColumn } from '../../../catalog/ddl.ts'
import { quoteName } from '../../../catalog/layout.ts'
import type { Obstacle, Relation } from '../../selection.ts'

type Typed = Pick<TableColumn, 'name' | 'sqlType'>

const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  'VARCHAR[]': 'text[]',
  // Keeps the text unchanged; jsonb would sort keys, refuse some numbers, and differ from the warehouse.
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

/** An index entry has at most 2,704 bytes, and a key of ours five columns. */
const ID_BYTES = 500
const MOST_KEY_BYTES = 2_600

/** Checks for NUL first, because `replace` copies each text, which took a third of a package's time. */
const text = (value: string): string =>
  `CASE WHEN contains(${value}, chr(0)) THEN replace(${value}, chr(0), '${REPLACEMENT}') ELSE ${value} END`

/**
 * Represents an id with a NUL, or too long for an index, by its beginning and its hash, so that ids stay distinct. It
 * is the same in every table, so that ids join.
 */
const id = (value: string): string =>
  `CASE WHEN contains(${value}, chr(0)) OR strlen(${value}) > ${ID_BYTES}
    THEN left(${text(value)}, 100) || '…' || sha256(${value}) ELSE ${value} END`

/** Replaces the escape of NUL, which json accepts and jsonb refuses. JSON never contains chr(1), which protects escaped backslashes. */
const json = (value: string): string =>
  `CASE WHEN contains(${value}::VARCHAR, '\\u0000')
    THEN replace(replace(replace(${value}::VARCHAR, '\\\\', chr(1)), '\\u0000', '\\ufffd'), chr(1), '\\\\')::JSON ELSE ${value} END`

/** Limits years to 1–9999, since PostgreSQL's drivers cannot read others. Keys, which are never NULL, get the nearest time. */
const inYears = (value: string, isKey: boolean, [first, last]: readonly [string, string]): string =>
  isKey
    ? `greatest(least(${value}, ${last}), ${first})`
    : `CASE WHEN ${value} BETWEEN ${first} AND ${last} THEN ${value} END`

const DAYS = [`DATE '0001-01-01'`, `DATE '9999-12-31'`] as const
const TIMES = [`TIMESTAMPTZ '0001-01-01T00:00:00Z'`, `TIMESTAMPTZ '9999-12-31T23:59:59.999999Z'`] as const

/** Matches PostgreSQL's own columns. */
const RESERVED = /^(?:tableoid|ctid|[cx]m(?:in|ax))$/

/** PostgreSQL moves longer values out of the row. */
const INLINE_BYTES = 24

/** Returns the SQL of the most bytes that a value takes in its row, or in an entry of an index. */
const bytesOf = ({ name, sqlType }: Typed, most: number): string => {
  const value = `t.${quoteName(name)}`
  return /^(VARCHAR|JSON)/.test(sqlType)
    ? `least(strlen(${value}::VARCHAR) + 4, ${most})`
    : `if(${value} IS NULL, 0, 8)`
}

/** Lists what PostgreSQL cannot hold of a table: names, numbers of columns, rows that exceed a page, keys that exceed an index. */
export function obstaclesOf({ columns, key }: Relation): Obstacle[] {
  const misnamed = columns.find(({ name }) => RESERVED.test(name) || Buffer.byteLength(name) > 63)
  if (misnamed)
    return [{ reason: `its column ${misnamed.name} has a name that PostgreSQL reserves, or of more than 63 bytes` }]
  if (columns.length > 1_600) return [{ reason: `it has ${columns.length} columns, and PostgreSQL allows 1,600` }]
  if (key.length > 32) return [{ reason: `its key has ${key.length} columns, and PostgreSQL allows 32` }]
  const total = (of: readonly Typed[], most: number) =>
    `list_sum([${of.map(column => bytesOf(column, most)).join(', ')}])`
  const inKey = columns.filter(({ name }) => key.includes(name))
  const pageBytes = 8_160 - 32 - columns.length / 8
  const limits = [
    { reason: 'a row is larger than a page of PostgreSQL', of: columns, each: INLINE_BYTES, most: pageBytes },
    { reason: 'a key is larger than an entry of an index', of: inKey, each: ID_BYTES, most: MOST_KEY_BYTES },
  ]
  return limits
    .filter(({ of, each, most }) => of.length * each > most)
    .map(({ reason, of, each, most }) => ({ reason, rows: `${total(of, each)} > ${most}` }))
}

export interface Representation {
  /** Names of the columns that are part of any table's key. */
  ids: ReadonlySet<string>
  /** True if the column is part of the key of its own table. */
  isKey: boolean
}

/** Returns the SQL of a column's `value` in a form that PostgreSQL can hold. */
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

/** Returns the SQL of a stored value in the package's type. */
export const storedValue = ({ name, sqlType }: Typed): string => `${quoteName(name)}::${sqlType}`
