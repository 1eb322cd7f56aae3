// A tile whose rows are the values of a dimension, and whose columns are metrics.
import type { ComponentChildren } from 'preact'
import type { Cell } from '../../../metrics/answer-format.ts'
import { type ListedMetric, type MetricAnswered, useMetrics } from '../api/metrics.ts'
import type { TableTile as Spec } from '../api/pages.ts'
import { cellText } from '../charts/cell-text.ts'
import { changeText, valueText } from '../format/values.ts'
import { colourOf, labelOf, valueKey } from '../state/colours.ts'
import { behind, filtersFor } from '../state/filters.ts'
import { addressOf } from '../state/location.ts'
import { period } from '../state/period.ts'
import { Answered, Empty } from './states.tsx'
import { DataTable, type TableRow } from './table.tsx'
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
  const asked = { period: period.value, grain: 'none' as const, filters }
  const answer = useMetrics({ ...asked, metrics: spec.metrics, split: dimension, top, compare: true })
  const rows = answer.data ? rowsOf(answer.data) : []
  const [first] = metrics
  const most = Math.max(1, ...rows.map(({ cells }) => cells.get(first!.name)?.value ?? 0))
  const title = first!.dimensions.find(({ name }) => name === dimension)?.title ?? dimension
  const shown = rows.map(({ split, cells }): TableRow => {
    const linked = (metric: ListedMetric, content: ComponentChildren) =>
      metric.hasConversations && !split.isOther && (cells.get(metric.name)?.n ?? 0) > 0 ? (
        <a
          href={addressOf(
            'conversations',
            behind({
              ...asked,
              metrics: [metric.name],
              filters: { ...filters, [dimension]: [split.workspaceId === null ? split.value : valueKey(split)] },
            }),
          )}
        >
          {content}
        </a>
      ) : (
        content
      )
    return {
      key: valueKey(split) + split.isOther,
      cells: {
        [dimension]: (
          <span class="clamped" title={labelOf(dimension, split)}>
            <span class="swatch" style={{ background: colourOf(dimension, split) }} />
            {labelOf(dimension, split)}
          </span>
        ),
        ...Object.fromEntries(
          metrics.map((metric, at) => {
            const cell = cells.get(metric.name)
            return [
              metric.name,
              <>
                {at === 0 && metric.unit === 'count' && (
                  <span class="cell-bar" aria-hidden="true">
                    <span style={{ width: `${((cell?.value ?? 0) / most) * 100}%` }} />
                  </span>
                )}
                {linked(metric, cellText(cell, metric))}
                <Moved cell={cell} metric={metric} />
              </>,
            ]
          }),
        ),
      },
      values: {
        [dimension]: labelOf(dimension, split),
        ...Object.fromEntries(metrics.map(({ name }) => [name, cells.get(name)?.value ?? null])),
      },
    }
  })
  const columns = [
    { key: dimension, title, isNumber: false },
    ...metrics.map(metric => ({
      key: metric.name,
      title: metric.title,
      about: `${metric.definition} ${metric.misleads}`,
      isNumber: true,
    })),
  ]
  return (
    <Tile
      {...{ id, metrics, ignored }}
      title={spec.title}
      subtitle={`${/ by$/.test(title) ? title : `By ${title.toLowerCase()}`} · whole period, with the change against the period before where that is covered`}
      below={spec.below}
      width={spec.width}
      sql={answer.data?.map(({ sql }) => sql).join(';\n\n') ?? null}
      csv={() => [
        columns.map(({ title: one }) => one),
        ...rows.map(({ split, cells }) => [
          labelOf(dimension, split),
          ...metrics.map(({ name }) => String(cells.get(name)?.value ?? '')),
        ]),
      ]}
    >
      <Answered answer={answer} height={200}>
        {() =>
          shown.length === 0 ? (
            <Empty>There is nothing to count in this period with these filters.</Empty>
          ) : (
            <DataTable caption={spec.title} columns={columns} rows={shown} sort={`sort-${id}`} />
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
  const tone = better === null ? '' : isUp === (better === 'higher') ? 'good' : 'bad'
  return (
    <small class={`block ${tone}`} title={`before: ${valueText(before.value, unit, before.n)}`}>
      {isUp ? '▲' : '▼'}{' '}
      {changeText(cell.value, before.value, unit)
        ?.replace(/^[+−-]/, '')
        .replace(' points', ' pt')}
    </small>
  )
}
