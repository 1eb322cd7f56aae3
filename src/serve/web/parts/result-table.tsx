// The rows of an answer to SQL as a table.
import { conversationAddress, type Row } from '../api/conversations.ts'
import { valueCell } from '../format/cells.ts'
import type { Column, Table } from './table.tsx'

export type SqlRow = Readonly<Record<string, unknown>>

export interface SqlAnswer {
  rows: SqlRow[]
  truncated: boolean
}

const isPlain = (value: unknown): value is number | string | null =>
  value === null || typeof value === 'number' || typeof value === 'string'

/** The id of a conversation leads to it if the row has the ids that it is found by. */
const cellOf = (row: SqlRow, key: string) =>
  key === 'conversation_id' && row.workspace_id && row.agent_id && row.conversation_id ? (
    <a href={conversationAddress(row as Row)}>{valueCell(row[key])}</a>
  ) : (
    valueCell(row[key])
  )

/** Returns the rows with their columns, of which numbers stand at the right. */
export const resultTable = ({ rows }: SqlAnswer): Table<SqlRow> => ({
  columns: Object.keys(rows[0] ?? {}).map(
    (key): Column<SqlRow> => ({
      ...{ key, title: key },
      isNumber: rows.every(row => row[key] === null || typeof row[key] === 'number'),
      value: row => (isPlain(row[key]) ? row[key] : valueCell(row[key])),
      cell: row => cellOf(row, key),
    }),
  ),
  rows,
})
