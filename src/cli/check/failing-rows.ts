// The first rows of checks that fail, for `convohouse check NAME`.
import { isCode } from '../../core/errors.ts'
import { count, counted } from '../../core/words.ts'
import type { Ran } from '../../warehouse/checks/results.ts'
import { withWarehouseRows } from '../../warehouse/query/rows.ts'
import type { WarehouseAccess } from '../../warehouse/query/warehouse-client.ts'
import { grid, gridOnStdout, visible } from '../terminal/columns.ts'

/** Rows that are shown of a check that fails. */
const SHOWN_ROWS = 5

/** Values as text. */
export type ShownRow = Record<string, string | null>

/** The first rows of each check that fails, by its name. They may name people: they are shown, and never stored. */
export async function failingRows(access: WarehouseAccess, results: readonly Ran[]): Promise<Map<string, ShownRow[]>> {
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  const shown = new Map<string, ShownRow[]>()
  if (failed.length === 0) return shown
  return withWarehouseRows(access, async rows => {
    for (const { check } of failed) {
      const sql = `SELECT COLUMNS('(?s).*')::VARCHAR AS '\\0' FROM (${check.sql}\n) ORDER BY ALL LIMIT ${SHOWN_ROWS}`
      const found = await rows<ShownRow>(sql).catch(error => {
        if (isCode(error, 'QUERY_TIMEOUT')) return []
        throw error
      })
      shown.set(check.name, found)
    }
    return shown
  })
}

/** The rows as a table, and how many there are. */
export function rowLines(rows: readonly ShownRow[], violations: number): string[] {
  const columns = Object.keys(rows[0] ?? {})
  const { width, ...style } = gridOnStdout()
  const options = { ...style, width: width === undefined ? undefined : width - 2 }
  const cells = rows.map(row => columns.map(name => row[name] ?? 'NULL'))
  const lines =
    columns.length === 0
      ? []
      : grid(
          columns.map(name => ({ name: visible(name) })),
          cells,
          options,
        )
  const more = violations > rows.length ? [`${count(rows.length)} of ${counted(violations, 'row')}`] : []
  return [...lines, ...more].map(line => `  ${line}`)
}
