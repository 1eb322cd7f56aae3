// The first rows of checks that fail, for `convohouse check NAME`.
import { ConvohouseError } from '../../core/errors.ts'
import { count, counted } from '../../core/words.ts'
import type { Ran } from '../../warehouse/checks/results.ts'
import { reasonOf } from '../../warehouse/checks/run-check.ts'
import { withWarehouseRows } from '../../warehouse/query/rows.ts'
import type { WarehouseAccess } from '../../warehouse/query/warehouse-client.ts'
import { grid, gridOnStdout, visible } from '../terminal/columns.ts'

/** Rows that are shown of a check that fails. */
const SHOWN_ROWS = 5

/** Characters of a value that are shown: the width of a long text takes minutes to measure. */
const SHOWN_CHARACTERS = 200

/** Values as text. */
export type ShownRow = Record<string, string | null>

export interface Shown {
  rows: ShownRow[]
  /** Why there are none, without values; null: there are. */
  problem: string | null
}

/**
 * The first rows of each check that fails, by its name. They may name people: they are shown, and never stored. A column that the number of
 * rows does not need may fail here for the first time.
 */
export async function failingRows(access: WarehouseAccess, results: readonly Ran[]): Promise<Map<string, Shown>> {
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  const shown = new Map<string, Shown>()
  if (failed.length === 0) return shown
  const text = `COLUMNS('(?s).*')::VARCHAR`
  const value = `CASE WHEN length(${text}) > ${SHOWN_CHARACTERS} THEN left(${text}, ${SHOWN_CHARACTERS}) || '…' ELSE ${text} END`
  return withWarehouseRows(access, async rows => {
    for (const { check } of failed) {
      const sql = `SELECT ${value} AS '\\0' FROM (${check.sql}\n) LIMIT ${SHOWN_ROWS}`
      const found = await rows<ShownRow>(sql).then(
        some => ({ rows: some, problem: null }),
        error => {
          if (error instanceof ConvohouseError) return { rows: [], problem: reasonOf(error) }
          throw error
        },
      )
      shown.set(check.name, found)
    }
    return shown
  })
}

/** The rows as a table, and how many there are. */
export function rowLines({ rows, problem }: Shown, violations: number): string[] {
  if (problem !== null) return [`  Its rows cannot be shown: ${visible(problem)}`]
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
