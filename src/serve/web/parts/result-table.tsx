// The rows of an answer to SQL as a table.
import { conversationAddress, type Row } from '../api/conversations.ts'
import { valueCell } from '../format/cells.ts'
import { DataTable } from './table.tsx'

export interface SqlAnswer {
  rows: Record<string, unknown>[]
  truncated: boolean
}

/** The columns, of which numbers stand at the right. */
export function columnsOf({ rows }: SqlAnswer) {
  const isNumber = (key: string) => rows.every(row => row[key] === null || typeof row[key] === 'number')
  return Object.keys(rows[0] ?? {}).map(key => ({ key, title: key, isNumber: isNumber(key) }))
}

/** The id of a conversation leads to it if the row has the ids that it is found by. */
const cellOf = (row: Record<string, unknown>, key: string) =>
  key === 'conversation_id' && row.workspace_id && row.agent_id && row.conversation_id ? (
    <a href={conversationAddress(row as Row)}>{valueCell(row[key])}</a>
  ) : (
    valueCell(row[key])
  )

export function ResultTable({ caption, answer, sort }: { caption: string; answer: SqlAnswer; sort: string | null }) {
  const columns = columnsOf(answer)
  const rows = answer.rows.map((row, at) => ({
    key: String(at),
    cells: Object.fromEntries(columns.map(({ key }) => [key, cellOf(row, key)])),
    values: row as Record<string, number | string | null>,
  }))
  return <DataTable caption={caption} columns={columns} rows={rows} sort={sort} />
}

/** Returns the rows as CSV, with a line of titles. */
export const csvOf = (answer: SqlAnswer): string[][] => {
  const columns = columnsOf(answer)
  const text = (value: unknown) =>
    value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  return [columns.map(({ title }) => title), ...answer.rows.map(row => columns.map(({ key }) => text(row[key])))]
}
