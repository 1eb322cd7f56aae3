// A table of values with units. A click on a column's title sorts; the order is in the address.
import type { ComponentChildren } from 'preact'
import { withoutFormula } from '../../../core/spreadsheet.ts'
import { go, here, query } from '../state/location.ts'

export interface Column<Row> {
  key: string
  title: string
  /** Explains the column. */
  about?: string | undefined
  isNumber?: boolean
  /** What it is sorted by, and what stands in CSV. */
  value: (row: Row) => number | string | null
  /** What is shown if it is not the value; null is in CSV alone. */
  cell?: ((row: Row) => ComponentChildren) | null
}

export interface Table<Row> {
  columns: readonly Column<Row>[]
  rows: readonly Row[]
}

function csvField(value: number | string | null): string {
  const text = typeof value === 'string' ? withoutFormula(value) : String(value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Returns the rows as CSV, with a line of the columns' keys. */
export const csvOf = <Row,>({ columns, rows }: Table<Row>): string =>
  [columns.map(({ key }) => key), ...rows.map(row => columns.map(({ value }) => value(row)))]
    .map(fields => `${fields.map(csvField).join(',')}\r\n`)
    .join('')

/** Unknown values come last in either order. */
function sorted<Row>({ columns, rows }: Table<Row>, key: string | undefined, way: string | undefined): readonly Row[] {
  const column = columns.find(one => one.key === key)
  if (!column) return rows
  const sign = way === 'up' ? 1 : -1
  return [...rows].sort((a, b) => {
    const [left, right] = [column.value(a), column.value(b)]
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    const areNumbers = typeof left === 'number' && typeof right === 'number'
    return sign * (areNumbers ? left - right : String(left).localeCompare(String(right)))
  })
}

interface TableProps<Row> extends Table<Row> {
  caption: string
  /** Name of the address's parameter for the order; null: rows stay as they are. */
  sort: string | null
}

export function DataTable<Row>({ caption, columns, rows, sort }: TableProps<Row>) {
  const [, key, way] = /^(.*)-(up|down)$/.exec((sort && query.value.get(sort)) ?? '') ?? []
  const turn = (column: Column<Row>) => {
    const first = column.isNumber ? 'down' : 'up'
    const next = column.key !== key ? first : way === 'down' ? 'up' : 'down'
    go(here({ [sort!]: `${column.key}-${next}` }), { replace: true })
  }
  const shown = columns.filter(({ cell }) => cell !== null)
  return (
    <section class="table" tabIndex={0} aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {shown.map(column => (
              <th
                key={column.key}
                scope="col"
                class={column.isNumber ? 'number' : undefined}
                aria-sort={
                  sort === null ? undefined : column.key !== key ? 'none' : way === 'up' ? 'ascending' : 'descending'
                }
                title={column.about}
              >
                {sort === null ? (
                  column.title
                ) : (
                  <button type="button" class="plain" onClick={() => turn(column)}>
                    {column.title}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted({ columns, rows }, key, way).map((row, at) => (
            <tr key={at}>
              {shown.map(({ key: name, isNumber, value, cell }, place) => {
                const content = clamped(cell ? cell(row) : value(row))
                return place === 0 ? (
                  <th key={name} scope="row">
                    {content}
                  </th>
                ) : (
                  <td key={name} class={isNumber ? 'number' : undefined}>
                    {content}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const LONG = 24

/** Long text has two lines; the whole of it is its title. */
const clamped = (content: ComponentChildren) =>
  typeof content === 'string' && content.length > LONG ? (
    <span class="clamped" title={content}>
      {content}
    </span>
  ) : (
    content
  )
