// Statements that create or update a target's tables. They drop or alter nothing, because users' views depend on it.
import { createHash } from 'node:crypto'
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import type { PostgresTarget } from '../../../config/targets/postgres.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import type { PackagedTable } from '../../package.ts'
import { WATERMARK_TABLE } from '../../watermark.ts'
import { columnType } from './representation.ts'
import { placeIn, type StoredState, TABLES_TABLE, tableText } from './stored-state.ts'

type Target = Pick<PostgresTarget, 'schema'>

export const quotedPlace = (target: Target, table: string): string => {
  const { schema, name } = placeIn(target, table)
  return `${quoteName(schema)}.${quoteName(name)}`
}

const columnText = ({ name, sqlType }: PackagedTable['columns'][number]): string =>
  `${quoteName(name)} ${columnType(sqlType)}`

export const createTable = (target: Target, { name, columns }: PackagedTable): string =>
  `CREATE TABLE ${quotedPlace(target, name)} (${columns.map(columnText).join(', ')})`

/** Returns the name with which PostgreSQL describes the type. */
const describedAs = (type: string): string => type.replace('timestamptz', 'timestamp with time zone')

/**
 * Returns statements that add missing columns. @throws TARGET_UNUSABLE if a column has another type: altering it would
 * rewrite the table, which concurrent readers would see empty
 */
export function addedColumns(target: Target, { name, columns }: PackagedTable, { tables }: StoredState): string[] {
  const stored = tables.get(name)
  if (!stored) return []
  const other = columns.find(
    column => stored.has(column.name) && stored.get(column.name) !== describedAs(columnType(column.sqlType)),
  )
  if (other) {
    const table = tableText(target, name)
    throw new ConvohouseError('TARGET_UNUSABLE', {
      what: `Column ${other.name} of ${table} has the type ${stored.get(other.name)}, but ${columnType(other.sqlType)} is to be published.`,
      hint: `Rename it: ALTER TABLE ${table} RENAME COLUMN ${other.name} TO ${other.name}_earlier. Views follow the name; the next publication adds the column.`,
    })
  }
  return columns
    .filter(column => !stored.has(column.name))
    .map(column => `ALTER TABLE ${quotedPlace(target, name)} ADD COLUMN ${columnText(column)}`)
}

export const commentsOf = (target: Target, { name, about, columns }: PackagedTable): string[] => [
  `COMMENT ON TABLE ${quotedPlace(target, name)} IS ${quoteText(about)}`,
  ...columns.map(
    column => `COMMENT ON COLUMN ${quotedPlace(target, name)}.${quoteName(column.name)} IS ${quoteText(column.about)}`,
  ),
]

const LONGEST_NAME = 63

/** Returns a name of at most 63 bytes that is unique in the schema. */
function objectName(table: string, suffix: string): string {
  const whole = `${table}_${suffix}`
  if (whole.length <= LONGEST_NAME) return whole
  return `${whole.slice(0, LONGEST_NAME - 9)}_${createHash('sha256').update(whole).digest('hex').slice(0, 8)}`
}

/**
 * Returns the columns of each index that readers need. A key's index starts with its last column, so that it also
 * serves queries about one conversation or day.
 */
export function indexedColumns({ columns, key, timeColumn, isChild }: PackagedTable): string[][] {
  const has = (name: string) => columns.some(column => column.name === name)
  const ofKey = key.toReversed()
  if (isChild) return [ofKey]
  const times = [...new Set([...(has('day') ? ['day'] : []), ...(timeColumn === null ? [] : [timeColumn])])]
  const wanted = [
    ...times.map(name => [name]),
    ...(has('agent_id') ? [['agent_id', ...times.slice(0, 1)]] : []),
    ...(has('conversation_id') ? [['conversation_id']] : []),
  ]
  return [ofKey, ...wanted.filter(([first, ...rest]) => rest.length > 0 || first !== ofKey[0])]
}

/** Returns statements that create the primary key, if keys are unique, and the indexes. Run after the insert. */
export function indexesOf(target: Target, table: PackagedTable): string[] {
  const place = quotedPlace(target, table.name)
  const { name } = placeIn(target, table.name)
  const list = (columns: readonly string[]) => `(${columns.map(quoteName).join(', ')})`
  return indexedColumns(table).map((columns, index) =>
    index === 0 && table.isKeyUnique
      ? `ALTER TABLE ${place} ADD CONSTRAINT ${quoteName(objectName(name, 'pkey'))} PRIMARY KEY ${list(columns)}`
      : `CREATE INDEX ${quoteName(objectName(name, `${columns.join('_')}_idx`))} ON ${place} ${list(columns)}`,
  )
}

/** Returns statements that create the tables of the watermark and of the names of published tables. */
export const bookkeepingTables = ({ schema }: Target): string[] => [
  `CREATE TABLE ${schema}.${WATERMARK_TABLE} (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), owner text NOT NULL, epoch text NOT NULL,
    seq bigint NOT NULL, publication_id text NOT NULL, policy text NOT NULL, as_of timestamptz NOT NULL)`,
  `COMMENT ON TABLE ${schema}.${WATERMARK_TABLE} IS 'The last publication: its rows are those of the warehouse at as_of. Written by convohouse'`,
  `CREATE TABLE ${schema}.${TABLES_TABLE} (name text PRIMARY KEY)`,
  `COMMENT ON TABLE ${schema}.${TABLES_TABLE} IS 'The tables that publications have created. Written by convohouse'`,
]
