// A table of values with units. A click on a column's title sorts; the order is in the address.
import type { ComponentChildren } from 'preact'
import { go, here, query } from '../state/location.ts'

export interface TableColumn {
  key: string
  title: string
  /** Explains the column. */
  about?: string
  isNumber: boolean
}

export interface TableRow {
  key: string
  /** What is shown, by column. */
  cells: Readonly<Record<string, ComponentChildren>>
  /** What it is sorted by. */
  values: Readonly<Record<string, number | string | null>>
}

interface TableProps {
  caption: string
  columns: readonly TableColumn[]
  rows: readonly TableRow[]
  /** Name of the address's parameter for the order; null: rows stay as they are. */
  sort: string | null
}

const ORDER = /^(.*)-(up|down)$/

function sorted(rows: readonly TableRow[], given: string | null): readonly TableRow[] {
  const [, column, way] = ORDER.exec(given ?? '') ?? []
  if (column === undefined) return rows
  const sign = way === 'up' ? 1 : -1
  const of = (row: TableRow) => row.values[column] ?? null
  return [...rows].sort((a, b) => {
    const [left, right] = [of(a), of(b)]
    // Unknown values come last in either order.
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    return (
      sign *
      (typeof left === 'number' && typeof right === 'number' ? left - right : String(left).localeCompare(String(right)))
    )
  })
}

export function DataTable({ caption, columns, rows, sort }: TableProps) {
  const order = sort === null ? null : query.value.get(sort)
  const turn = ({ key, isNumber }: TableColumn) => {
    const first = isNumber ? 'down' : 'up'
    const [, column, way] = ORDER.exec(order ?? '') ?? []
    const next = column !== key ? first : way === 'down' ? 'up' : 'down'
    go(here({ [sort!]: `${key}-${next}` }), { replace: true })
  }
  const stateOf = (key: string) => {
    const [, column, way] = ORDER.exec(order ?? '') ?? []
    return column === key ? (way === 'up' ? 'ascending' : 'descending') : 'none'
  }
  return (
    <section class="table" tabIndex={0} aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(column => (
              <th
                key={column.key}
                scope="col"
                class={column.isNumber ? 'number' : undefined}
                aria-sort={sort === null ? undefined : stateOf(column.key)}
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
          {sorted(rows, order).map(({ key, cells }) => (
            <tr key={key}>
              {columns.map(({ key: column, isNumber }, at) =>
                at === 0 ? (
                  <th key={column} scope="row">
                    <Clamped>{cells[column]}</Clamped>
                  </th>
                ) : (
                  <td key={column} class={isNumber ? 'number' : undefined}>
                    <Clamped>{cells[column]}</Clamped>
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const LONG = 24

/** Long text has two lines; the whole of it is its title. */
const Clamped = ({ children }: { children: ComponentChildren }) =>
  typeof children === 'string' && children.length > LONG ? (
    <span class="clamped" title={children}>
      {children}
    </span>
  ) : (
    children
  )
