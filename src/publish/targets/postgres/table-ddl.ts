// Statements that create or update a target's tables. They drop or alter nothing, because users' views depend on it.
import { quoteName, quoteText } from '../../../catalog/layout.ts'
import type { PostgresTarget } from '../../../config/targets/postgres.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import type { PackagedTable } from '../../package.ts'
import { changedByOwner, WATERMARK_TABLE } from '../../watermark.ts'
import { columnType } from './representation.ts'
import { quotedPlace, type StoredState, TABLES_TABLE, tableText } from './stored-state.ts'

type Target = Pick<PostgresTarget, 'schema'>

type Named = Pick<PostgresTarget, 'schema' | 'name'>

const columnText = ({ name, sqlType }: PackagedTable['columns'][number]): string =>
  `${quoteName(name)} ${columnType(sqlType)}`

export const createTable = (target: Target, { name, columns }: PackagedTable): string =>
  `CREATE TABLE ${quotedPlace(target, name)} (${columns.map(columnText).join(', ')})`

/** Returns the name with which PostgreSQL describes the type. */
const describedAs = (type: string): string => type.replace('timestamptz', 'timestamp with time zone')

/**
 * Returns the columns that a stored table lacks. @throws TARGET_CHANGED if one has another type: altering it would rewrite the table, which
 * concurrent readers would see empty
 */
function lackingColumns(target: Named, { name: table, columns }: PackagedTable, { tables }: StoredState) {
  const stored = tables.get(table)
  if (!stored) return []
  const lacking = columns.filter(({ name }) => !stored.has(name))
  const other = columns.find(
    one => !lacking.includes(one) && stored.get(one.name) !== describedAs(columnType(one.sqlType)),
  )
  if (!other) return lacking
  const { name } = other
  const [column, earlier, place] = [quoteName(name), quoteName(`${name}_earlier`), quotedPlace(target, table)]
  const type = columnType(other.sqlType)
  throw new ConvohouseError('TARGET_CHANGED', {
    what: `Column ${name} of ${tableText(target, table)} has the type ${stored.get(name)}, but ${type} is to be published.`,
    hint: `Run \`ALTER TABLE ${place} ALTER COLUMN ${column} TYPE ${type} USING ${column}::${type}\`, or \`ALTER TABLE ${place} RENAME COLUMN ${column} TO ${earlier}\` (views follow the name) and \`convohouse publish ${target.name} --refill\`, which adds the column.`,
  })
}

/** @throws TARGET_CHANGED if a column that a delta writes was dropped, renamed or altered */
export function expectColumns(target: Named, table: PackagedTable, state: StoredState): void {
  const [lacking] = lackingColumns(target, table, state)
  if (!lacking) return
  throw changedByOwner(
    `Column ${lacking.name} of ${tableText(target, table.name)} was dropped or renamed.`,
    target.name,
  )
}

/** Returns statements that add missing columns. @throws TARGET_CHANGED if a column has another type */
export const addedColumns = (target: Named, table: PackagedTable, state: StoredState): string[] =>
  lackingColumns(target, table, state).map(
    column => `ALTER TABLE ${quotedPlace(target, table.name)} ADD COLUMN ${columnText(column)}`,
  )

export const commentsOf = (target: Target, { name, about, columns }: PackagedTable): string[] => [
  `COMMENT ON TABLE ${quotedPlace(target, name)} IS ${quoteText(about)}`,
  ...columns.map(
    column => `COMMENT ON COLUMN ${quotedPlace(target, name)}.${quoteName(column.name)} IS ${quoteText(column.about)}`,
  ),
]

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

/** Returns statements that create the primary key, if keys are unique, and the indexes, whose names PostgreSQL chooses. Run after the insert. */
export function indexesOf(target: Target, table: PackagedTable): string[] {
  const place = quotedPlace(target, table.name)
  const list = (columns: readonly string[]) => `(${columns.map(quoteName).join(', ')})`
  return indexedColumns(table).map((columns, index) =>
    index === 0 && table.isKeyUnique
      ? `ALTER TABLE ${place} ADD PRIMARY KEY ${list(columns)}`
      : `CREATE INDEX ON ${place} ${list(columns)}`,
  )
}

/** Returns statements that create the tables of the watermark and of the names of published tables. */
export function bookkeepingTables(target: Target): string[] {
  const [watermark, tables] = [WATERMARK_TABLE, TABLES_TABLE].map(name => quotedPlace(target, name))
  return [
    `CREATE TABLE ${watermark} (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), owner text NOT NULL, epoch text NOT NULL,
      seq bigint NOT NULL, publication_id text NOT NULL, policy text NOT NULL, as_of timestamptz NOT NULL, backfill_unfinished boolean)`,
    `COMMENT ON TABLE ${watermark} IS 'The last publication: its rows are those of the warehouse at as_of. Written by convohouse'`,
    `CREATE TABLE ${tables} (name text PRIMARY KEY)`,
    `COMMENT ON TABLE ${tables} IS 'The tables that publications have created. Written by convohouse'`,
  ]
}
