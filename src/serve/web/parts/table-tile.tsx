// A tile whose rows are the values of a dimension, and whose columns are metrics.
import type { ComponentChildren } from 'preact'
import type { Cell } from '../../../metrics/answer-format.ts'
import { type ListedMetric, type MetricAnswered, useMetrics } from '../api/metrics.ts'
import type { TableTile as Spec } from '../api/pages.ts'
import { cellText } from '../charts/cell-text.ts'
import { changeText, toneOf, valueText } from '../format/values.ts'
import { colourOf, filterValue, labelOf } from '../state/colours.ts'
import { addressBehind, filtersFor } from '../state/filters.ts'
import { period } from '../state/period.ts'
import { Answered, Empty } from './states.tsx'
import { type Column, DataTable } from './table.tsx'
import { Tile } from './tile.tsx'

interface Row {
  split: NonNullable<MetricAnswered['series'][number]['split']>
  cells: Map<string, Cell>
}

/** Joins the answers of several metrics by the values of the dimension. */
function rowsOf(answers: readonly MetricAnswered[]): Row[] {
  const rows = new Map<string, Row>()
  for (const { metric, series } of answers)
    for (const { split, total } of series) {
      if (!split || !total) continue
      const key = JSON.stringify([split.workspaceId, split.value, split.isOther])
      const row = rows.get(key) ?? { split, cells: new Map() }
      row.cells.set(metric, total)
      rows.set(key, row)
    }
  return [...rows.values()].filter(({ cells }) => [...cells.values()].some(({ n }) => n > 0))
}

export function TableTile({ spec, id, metrics }: { spec: Spec; id: string; metrics: readonly ListedMetric[] }) {
  const { table: dimension, top } = spec
  const { filters, ignored } = filtersFor(metrics, spec.filters)
  const asked = { period: period.value, filters }
  const answer = useMetrics({ ...asked, metrics: spec.metrics, split: dimension, top, compare: true })
  const rows = answer.data ? rowsOf(answer.data) : []
  const [first] = metrics
  const most = Math.max(1, ...rows.map(({ cells }) => cells.get(first!.name)?.value ?? 0))
  const title = first!.dimensions.find(({ name }) => name === dimension)?.title ?? dimension
  const linked = ({ split, cells }: Row, { name, hasConversations }: ListedMetric, content: ComponentChildren) => {
    if (!hasConversations || split.isOther || !cells.get(name)?.n) return content
    const question = { ...asked, metrics: [name], filters: { ...filters, [dimension]: [filterValue(split)] } }
    return <a href={addressBehind(question)}>{content}</a>
  }
  const columns: Column<Row>[] = [
    {
      key: dimension,
      title,
      value: ({ split }) => labelOf(dimension, split),
      cell: ({ split }) => (
        <span class="clamped" title={labelOf(dimension, split)}>
          <span class="swatch" style={{ background: colourOf(dimension, split) }} />
          {labelOf(dimension, split)}
        </span>
      ),
    },
    ...metrics.map((metric, at): Column<Row> => {
      const { name, unit, definition, misleads } = metric
      return {
        key: name,
        title: metric.title,
        about: `${definition} ${misleads}`,
        isNumber: true,
        value: ({ cells }) => cells.get(name)?.value ?? null,
        cell: row => (
          <>
            {at === 0 && unit === 'count' && (
              <span class="cell-bar" aria-hidden="true">
                <span style={{ width: `${((row.cells.get(name)?.value ?? 0) / most) * 100}%` }} />
              </span>
            )}
            {linked(row, metric, cellText(row.cells.get(name), metric))}
            <Moved cell={row.cells.get(name)} metric={metric} />
          </>
        ),
      }
    }),
  ]
  return (
    <Tile
      {...spec}
      {...{ id, metrics, ignored }}
      subtitle={`${/ by$/.test(title) ? title : `By ${title.toLowerCase()}`} · whole period, with the change against the period before where that is covered`}
      sql={answer.data?.map(({ sql }) => sql).join(';\n\n') ?? null}
      table={{ columns, rows }}
    >
      <Answered answer={answer} height={200}>
        {() =>
          rows.length === 0 ? (
            <Empty>There is nothing to count in this period with these filters.</Empty>
          ) : (
            <DataTable caption={spec.title} columns={columns} rows={rows} sort={`sort-${id}`} />
          )
        }
      </Answered>
    </Tile>
  )
}

function Moved({ cell, metric: { unit, better } }: { cell: Cell | undefined; metric: ListedMetric }) {
  const before = cell?.comparedWith
  if (cell?.value == null || before?.value == null || before.value === cell.value) return null
  const isUp = cell.value > before.value
  return (
    <small
      class={`block ${toneOf(cell.value - before.value, better)}`}
      title={`before: ${valueText(before.value, unit, before.n)}`}
    >
      {isUp ? '▲' : '▼'}{' '}
      {changeText(cell.value, before.value, unit)
        ?.replace(/^[+−-]/, '')
        .replace(' points', ' pt')}
    </small>
  )
}
