// The tables that consumers copy: record tables, observations, and marts. Bookkeeping (`_requests`, patches, …) is not published.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { layoutOf, quoteName, sameKey, utcDay } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { type KeyType, type Mart, marts } from '../marts/declarations.ts'

export interface PublishedTable {
  /** Name in `_changes`; that of a mart contains the schema: `marts.dim_agents`. */
  table: string
  /** Child tables with the same key columns: an entry covers a record and its child rows. */
  children: readonly string[]
  /** Columns that identify the rows that a change replaces. */
  key: readonly KeyColumn[]
  /** True if no two rows have the same key. */
  isKeyUnique: boolean
  /** Column whose month (UTC for times) is a row's partition; null if the table has one partition. */
  timeColumn: string | null
}

interface KeyColumn {
  name: string
  sqlType: KeyType
}

const textColumn = (name: string): KeyColumn => ({ name, sqlType: 'VARCHAR' })

/**
 * Observations of a conversation, by time. The key contains the time although two observations may share it: a new
 * observation then replaces the rows of one time, not all rows of its conversation.
 */
export const OBSERVATIONS: PublishedTable = {
  table: 'conversation_observations',
  children: [],
  key: [...layoutOf(conversation).key.map(textColumn), { name: 'observed_at', sqlType: 'TIMESTAMPTZ' }],
  isKeyUnique: false,
  timeColumn: 'observed_at',
}

/** Conversations by `ts`, facts by the time they happened. Other records are few or have no stable time. */
const timeColumnOf = (record: RecordType): string | null =>
  record === conversation ? 'ts' : record.fact ? '_as_of' : null

const published = (record: RecordType): PublishedTable => {
  const { key, children } = layoutOf(record)
  return {
    table: record.table,
    children: children.map(child => child.table),
    key: key.map(textColumn),
    isKeyUnique: true,
    timeColumn: timeColumnOf(record),
  }
}

export const PUBLISHED_TABLES: readonly PublishedTable[] = [...RECORD_TYPES.map(published), OBSERVATIONS]

/** Returns a mart, which consumers copy like a table. */
export const publishedMart = ({ name, grain, publishedBy, month, columns }: Mart): PublishedTable => ({
  table: `marts.${name}`,
  children: [],
  key: publishedBy.map(key => ({
    name: key,
    sqlType: columns.find(column => column.name === key)!.sqlType as KeyType,
  })),
  isKeyUnique: grain.every(column => publishedBy.includes(column)),
  timeColumn: month,
})

/** Returns the published table with this name; that of a mart contains the schema. */
export const publishedTable = (name: string): PublishedTable | undefined =>
  name.startsWith('marts.')
    ? marts()
        .map(publishedMart)
        .find(({ table }) => table === name)
    : PUBLISHED_TABLES.find(({ table }) => table === name)

/** True for a published table, and for a child table of one. */
export const isPublished = (name: string): boolean =>
  PUBLISHED_TABLES.some(({ table, children }) => table === name || children.includes(name))

/** Returns an SQL condition that rows `a` and `b` have the same key. */
export const sameKeys = ({ key }: PublishedTable, a: string, b: string): string =>
  sameKey(
    key.map(({ name }) => name),
    a,
    b,
  )

/**
 * Returns the SQL of the first day of row `t`'s UTC month; NULL if it has no time. The range of DATE includes every time's month.
 */
export function partitionOf({ table, timeColumn }: PublishedTable, t: string): string {
  if (timeColumn === null) return 'NULL::DATE'
  const time = `${t}.${timeColumn}`
  return `date_trunc('month', ${table.startsWith('marts.') ? time : utcDay(time)})::DATE`
}

/** Returns the SQL of the key of row `t` as `_changes` stores it. */
export const keyList = ({ key }: PublishedTable, t: string): string =>
  `[${key.map(({ name, sqlType }) => `${t}.${quoteName(name)}${sqlType === 'VARCHAR' ? '' : '::VARCHAR'}`).join(', ')}]`
