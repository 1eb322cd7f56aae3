// The marts as the headers of `sql/marts` declare them. A header is the comment before the SELECT that computes the mart's rows:
//
//   -- NAME: one row for each ….
//   -- Grain: its key columns
//   -- Month: the column whose month partitions it (omitted: one partition)
//   -- Refresh: conversations, groups or whole (`refresh.ts`)
//   -- Groups: of a mart of groups, the columns whose values are computed again together: columns of all its sources (omitted: its key)
//   -- Published by: the columns by whose values its rows are replaced in copies; several rows may have the same (omitted: its key)
//   -- Built from: tables and marts
//   -- Rows of: tables without whose rows the mart has none, or none of a conversation (omitted: there may be some)
//   -- Joins: columns with the keys of other marts under another name: assignee_id = dim_people.user_id (omitted: none)
//   -- Shared: columns whose values come from records that are not only of the row's agent, such as names of people (omitted: none)
//   -- Use: what it is for, on as many lines as needed
//   -- Example: queries, each ended by a semicolon
//   -- Columns:
//   --   name  TYPE  PII class  description      (separated by at least two spaces)
import type { PiiClass } from '../../catalog/shape.ts'
import { columnParts, listIn, readHeader, type SqlFile, sqlFiles } from '../sql-files.ts'

/**
 * Scope of a refresh: rows of changed conversations, rows whose groups (values of the grain) these touched, or the
 * whole mart.
 */
export type RefreshScope = 'conversations' | 'groups' | 'whole'

export interface MartColumn {
  name: string
  sqlType: string
  pii: PiiClass
  about: string
}

interface MartJoin {
  column: string
  mart: string
  /** Column of the other mart. */
  key: string
}

export interface Mart {
  /** Name of the table in the schema `marts`. */
  name: string
  /** Meaning of one row. */
  about: string
  /** Names of the key columns. */
  grain: readonly string[]
  /** Column whose month is a row's partition. */
  month: string | null
  refresh: RefreshScope
  /** Rows with the same values of these columns are computed again together, in a mart of groups. All its sources have them. */
  groups: readonly string[]
  /** Columns whose values the change log contains: copies replace all rows that have them. */
  publishedBy: readonly string[]
  /** Names of tables, and of marts as `marts.NAME`. */
  builtFrom: readonly string[]
  /** Tables without whose rows the mart has no rows, or none of a conversation; an empty list if it may have some. */
  rowsOf: readonly string[]
  /** Columns that hold the key of another mart under another name. */
  joins: readonly MartJoin[]
  /** Columns that also have values from records of other agents. Targets with a row filter do not receive them. */
  shared: readonly string[]
  use: string
  /** Example queries. */
  example: string
  columns: readonly MartColumn[]
  /** SELECT that computes the rows. */
  select: string
}

/** Types of key columns; only models use BIGINT. */
export type KeyType = 'VARCHAR' | 'TIMESTAMPTZ' | 'DATE' | 'INTEGER' | 'BIGINT'

const FIELDS = [
  ...['Grain', 'Month', 'Refresh', 'Groups', 'Published by', 'Built from', 'Rows of', 'Joins', 'Shared', 'Use'],
  ...['Example', 'Columns'],
]

/** Parses one mart's file. `declarations.test.ts` checks the headers. */
function parseMart({ name, sql }: SqlFile): Mart {
  const header = readHeader(sql, FIELDS)
  const { about, fields, select } = header
  const text = (field: string): string => fields.get(field)!.join(' ')
  const grain = listIn(header, 'Grain')
  const listOrGrain = (field: string): string[] => (fields.has(field) ? listIn(header, field) : grain)
  return {
    name,
    about: about.slice(name.length + 2).replace(/\.$/, ''),
    grain,
    month: fields.has('Month') ? text('Month') : null,
    refresh: text('Refresh') as RefreshScope,
    groups: listOrGrain('Groups'),
    publishedBy: listOrGrain('Published by'),
    builtFrom: listIn(header, 'Built from'),
    rowsOf: listIn(header, 'Rows of'),
    joins: listIn(header, 'Joins').map(join => {
      const [column, mart, key] = join.split(/ = |\./)
      return { column: column!, mart: mart!, key: key! }
    }),
    shared: listIn(header, 'Shared'),
    use: text('Use'),
    example: (fields.get('Example') ?? []).join('\n'),
    columns: (fields.get('Columns') ?? []).map(line => {
      const [column, sqlType, pii, described] = columnParts(line)
      return { name: column!, sqlType: sqlType!, pii: pii as PiiClass, about: described! }
    }),
    select,
  }
}

/** Sorts marts so that each follows those that it is built from. */
function inOrder(all: readonly Mart[]): Mart[] {
  const ordered: Mart[] = []
  const visit = (mart: Mart): void => {
    if (ordered.includes(mart)) return
    for (const source of all.filter(({ name }) => mart.builtFrom.includes(`marts.${name}`))) visit(source)
    ordered.push(mart)
  }
  for (const mart of all) visit(mart)
  return ordered
}

let read: readonly Mart[] | undefined

/** Returns all marts, each after those that it is built from. Reads the files on the first call. */
export function marts(): readonly Mart[] {
  read ??= inOrder(sqlFiles('marts').map(parseMart))
  return read
}
