// Conversations as CSV (RFC 4180): a header row, CRLF, nested values as JSON text.
import { EXPORT_FIELDS } from './fields.ts'

/** Every field has its column in every page, so that pages can be laid under each other. Absent and null are empty. */
export function renderCsv(records: readonly Record<string, unknown>[]): string {
  const rows = records.map(record => EXPORT_FIELDS.map(field => cell(record[field])))
  return [EXPORT_FIELDS, ...rows].map(row => `${row.join(',')}\r\n`).join('')
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return /[",\r\n]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text
}
