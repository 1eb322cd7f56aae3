// A chart over periods, or of a week, with its legend and its pointer.
import { useCallback } from 'preact/hooks'
import type { Grain } from '../../../metrics/periods.ts'
import type { AgentChange } from '../api/pages.ts'
import { hourText, weekdayText } from '../format/dates.ts'
import { countText, valueText } from '../format/values.ts'
import { Chart, type Pointed } from './chart.tsx'
import type { Drawn, DrawnSeries } from './columns.ts'
import { HOURS, heatOption, placeInWeek, WEEKDAYS } from './heat-chart.ts'
import { hasEndLabels, timeOption } from './time-chart.ts'

interface MetricChartProps extends Drawn {
  title: string
  kind: 'bars' | 'line' | 'share' | 'heat'
  isSplit: boolean
  grain: Grain
  changes?: readonly AgentChange[]
  /** Opens what is behind a column. */
  onOpen?: ((key: string) => void) | undefined
}

const HEIGHT = 240

/** Returns the changes in each column. */
function marksOf({ columns, changes = [], grain }: MetricChartProps): AgentChange[][] {
  if (grain === 'weekday' || grain === 'local_hour') return columns.map(() => [])
  return columns.map(({ key }, at) => {
    const next = columns[at + 1]?.key ?? '9999'
    return changes.filter(({ day }) => day >= key.slice(0, 10) && day < next)
  })
}

export function MetricChart(props: MetricChartProps) {
  const { kind, series, columns, title, onOpen } = props
  if (kind === 'heat') return <Week {...props} />
  const marks = marksOf(props)
  const isStacked = kind === 'share' || (kind === 'bars' && props.isSplit)
  const option = useCallback(
    (width: number) => timeOption({ columns, series, kind, isStacked, marks, width }),
    [columns, series, kind, JSON.stringify(marks)],
  )
  const needsLegend =
    series.length > 1 && !hasEndLabels({ kind, series, width: innerWidth < 1_200 ? innerWidth - 80 : 560 })
  return (
    <>
      {needsLegend && <Legend series={series} />}
      <Chart
        label={`${title} Chart with ${columns.length} columns. Arrow keys read them.`}
        columns={columns.length}
        height={HEIGHT - (needsLegend ? 28 : 0)}
        option={option}
        tip={at => <ColumnTip {...props} at={at} marks={marks[at.column] ?? []} />}
        onOpen={onOpen && (({ column }) => onOpen(columns[column]!.key))}
      />
    </>
  )
}

function Legend({ series }: { series: readonly DrawnSeries[] }) {
  return (
    <ul class="legend row note">
      {series.map(({ name, colour }) => (
        <li key={name}>
          <span class="swatch" style={{ background: colour }} />
          <span class="cut" title={name}>
            {name}
          </span>
        </li>
      ))}
    </ul>
  )
}

const MOST_ROWS = 12

interface TipProps extends MetricChartProps {
  at: Pointed
  marks: readonly AgentChange[]
}

function ColumnTip({ columns, series, kind, grain, at, marks }: TipProps) {
  const column = columns[at.column]
  if (!column) return null
  const rows = series
    .map(one => ({ ...one, cell: one.cells[at.column] }))
    .sort((a, b) => (b.cell?.value ?? -1) - (a.cell?.value ?? -1))
  const whole = rows.reduce((sum, { cell }) => sum + (cell?.value ?? 0), 0)
  return (
    <>
      <strong>{column.days}</strong>
      {column.isUnfinished && <span class="note">not over yet</span>}
      {column.isPart && <span class="note">only these days of the {grain}</span>}
      <table>
        <tbody>
          {rows.slice(0, MOST_ROWS).map(({ name, colour, cell, text }) => (
            <tr key={name}>
              <th scope="row">
                <span class="swatch" style={{ background: colour }} />
                {name}
              </th>
              <td>{text(cell)}</td>
              {kind === 'share' && (
                <td class="note">
                  {whole > 0 && cell?.value != null ? valueText(cell.value / whole, 'share', 0) : ''}
                </td>
              )}
              {series[0]?.unit !== 'count' && cell && cell.n > 0 && <td class="note">n = {countText(cell.n)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {marks.map(({ agentTitle, agent, fields, day }) => (
        <span class="note" key={agent + day}>
          {agentTitle ?? agent} was changed: {fields.slice(0, 4).join(', ')}
        </span>
      ))}
    </>
  )
}

function Week({ series, title, onOpen }: MetricChartProps) {
  const [only] = series
  const option = useCallback((width: number) => heatOption(only!, width), [only])
  if (!only) return null
  const cellAt = ({ column, row }: Pointed) => only.cells[placeInWeek(WEEKDAYS[row]!, HOURS[column]!)]
  return (
    <Chart
      label={`${title} Map of weekdays and local hours. Arrow keys read it.`}
      columns={HOURS.length}
      rows={WEEKDAYS.length}
      height={HEIGHT}
      option={option}
      tip={at => (
        <>
          <strong>
            {weekdayText(WEEKDAYS[at.row]!)} {hourText(String(HOURS[at.column]))}
          </strong>
          <table>
            <tbody>
              <tr>
                <th scope="row">{only.name}</th>
                <td>{only.text(cellAt(at))}</td>
              </tr>
            </tbody>
          </table>
        </>
      )}
      onOpen={onOpen && (({ column, row }) => onOpen(`${WEEKDAYS[row]} ${String(HOURS[column]).padStart(2, '0')}`))}
    />
  )
}
