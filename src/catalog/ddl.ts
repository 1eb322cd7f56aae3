// DDL of a record type's tables. New columns of the catalog are added; none is dropped or altered.
import { type ChildTable, isNumbered, type Layout, quoteName } from './layout.ts'
import type { PiiClass } from './shape.ts'

export interface TableColumn {
  name: string
  sqlType: string
  about: string
  pii: PiiClass
}

export interface Table {
  name: string
  about: string
  columns: TableColumn[]
}

/** Declares bookkeeping columns, which contain no personal data. */
const bookkeeping = (columns: readonly Omit<TableColumn, 'pii'>[]): TableColumn[] =>
  columns.map(column => ({ ...column, pii: 'none' }))

/** Bookkeeping columns of every record table. */
const RECORD_BOOKKEEPING = bookkeeping([
  {
    name: '_version',
    sqlType: 'TIMESTAMPTZ',
    about: "The record's own last change, else the time at which it was read",
  },
  {
    name: '_as_of',
    sqlType: 'TIMESTAMPTZ',
    about: "When its request was sent, server's clock, minus the mirror's lag: the row is at least this fresh",
  },
  { name: '_fetched_at', sqlType: 'TIMESTAMPTZ', about: "When its request was sent, server's clock" },
  { name: '_loaded_at', sqlType: 'TIMESTAMPTZ', about: 'When the row was written' },
  { name: '_source', sqlType: 'VARCHAR', about: 'Where the row came from: export, webhook or api' },
])

/** Bookkeeping of rows that both events and exports update. */
const FOLD_BOOKKEEPING = bookkeeping([
  { name: '_complete', sqlType: 'BOOLEAN', about: 'A full record was exported' },
  { name: '_base_modified', sqlType: 'TIMESTAMPTZ', about: '`lastModified` of the full record below any patches' },
  {
    name: '_missing_since',
    sqlType: 'TIMESTAMPTZ',
    about: 'Since when the record is known to be gone: missing in a complete listing, or requested by id and not found',
  },
  {
    name: '_changed_at',
    sqlType: 'TIMESTAMPTZ',
    about: 'When an event last reported a change, whether exported since or not',
  },
  {
    name: '_dirty_since',
    sqlType: 'TIMESTAMPTZ',
    about: 'Since when the record is known to have changed without being exported again',
  },
])

/** Bookkeeping of records that the export selects by id. */
const NOT_EXPORTABLE: TableColumn = {
  name: '_not_exportable_since',
  sqlType: 'TIMESTAMPTZ',
  about: 'Since when the export scans it by id and does not return it: no person has written in it',
  pii: 'none',
}

const DELETION: TableColumn = {
  name: '_deleted_at',
  sqlType: 'TIMESTAMPTZ',
  about: 'When an event reported its deletion',
  pii: 'none',
}

/** Joins a record's row with its child rows. Deleting by number costs a fraction of deleting by key. */
export const RECORD_NUMBER: TableColumn = {
  name: '_record',
  sqlType: 'BIGINT',
  about:
    'Number of the record, the same in its row and in its child rows: for loading. It changes when the record is replaced; join by the key',
  pii: 'none',
}

const numberColumns = (layout: Layout): TableColumn[] => (isNumbered(layout) ? [RECORD_NUMBER] : [])

const keyColumns = (layout: Layout): TableColumn[] =>
  layout.key.map(name => ({ name, sqlType: 'VARCHAR', about: `Key: ${name.replace('_', ' ')}`, pii: 'none' }))

function recordTable(layout: Layout): Table {
  return {
    name: layout.record.table,
    about: layout.record.about,
    columns: [
      ...keyColumns(layout),
      ...layout.columns,
      { name: 'extra', sqlType: 'JSON', about: 'Fields that have no column, as sent', pii: 'content' },
      ...RECORD_BOOKKEEPING,
      ...(layout.record.fact ? [] : FOLD_BOOKKEEPING),
      ...(layout.record.selectable ? [NOT_EXPORTABLE] : []),
      ...(layout.record.deletable ? [DELETION] : []),
      ...numberColumns(layout),
    ],
  }
}

function childTable(layout: Layout, child: ChildTable): Table {
  return { name: child.table, about: child.about, columns: [...keyColumns(layout), ...child.columns, RECORD_NUMBER] }
}

/** Returns all tables of a record type: its own, then its child tables. */
export function tablesOf(layout: Layout): Table[] {
  return [recordTable(layout), ...layout.children.map(child => childTable(layout, child))]
}

/**
 * Returns statements that create a table, or add its missing columns. Tables have no PRIMARY KEY, because one makes
 * upserts of wide tables seventy times slower; `warehouse/checks/all-checks.ts` tests uniqueness instead.
 */
export function statementsFor(table: Table, existing: ReadonlySet<string>): string[] {
  if (existing.size === 0) {
    const columns = table.columns.map(column => `${quoteName(column.name)} ${column.sqlType}`)
    return [`CREATE TABLE ${quoteName(table.name)} (${columns.join(', ')})`]
  }
  return table.columns
    .filter(column => !existing.has(column.name))
    .map(column => `ALTER TABLE ${quoteName(table.name)} ADD COLUMN ${quoteName(column.name)} ${column.sqlType}`)
}
