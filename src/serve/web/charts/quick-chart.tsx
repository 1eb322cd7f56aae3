// A chart of the rows of a SELECT: x, one or more numbers, and a column by which they are split.
import { useCallback, useMemo } from 'preact/hooks'
import { valueCell } from '../format/cells.ts'
import { bucketText } from '../format/dates.ts'
import type { SqlAnswer } from '../parts/result-table.tsx'
import { cssColour, palette } from '../state/colours.ts'
import { Chart } from './chart.tsx'
import { axisLine, base, splitLine } from './drawing.ts'

interface QuickChartProps {
  title: string
  answer: SqlAnswer
  chart: 'bars' | 'line'
  x: string
  y: readonly string[]
  by?: string | undefined
}

const HEIGHT = 240
const MOST_SERIES = 8
const DAY = /^\d{4}-\d\d-\d\d$/

interface Line {
  name: string
  values: Map<string, number | null>
}

/** Returns the lines by name; rows with equal x and name add up. */
function linesOf({ answer: { rows }, x, y, by }: QuickChartProps): { keys: string[]; lines: Line[] } {
  const keys = [...new Set(rows.map(row => valueCell(row[x])))]
  const lines = new Map<string, Line>()
  for (const row of rows)
    for (const column of y) {
      const name = by === undefined ? column : y.length > 1 ? `${valueCell(row[by])} · ${column}` : valueCell(row[by])
      const line = lines.get(name) ?? { name, values: new Map() }
      const value = row[column] == null ? null : Number(row[column])
      const key = valueCell(row[x])
      line.values.set(key, value === null ? (line.values.get(key) ?? null) : (line.values.get(key) ?? 0) + value)
      lines.set(name, line)
    }
  return { keys, lines: [...lines.values()].slice(0, MOST_SERIES) }
}

export function QuickChart(props: QuickChartProps) {
  const { title, chart, answer } = props
  const { keys, lines } = useMemo(() => linesOf(props), [answer, chart, props.x, props.y.join(), props.by])
  const option = useCallback(
    () => ({
      ...base(),
      grid: { left: 8, right: 12, top: 12, bottom: 4, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
      xAxis: {
        type: 'category',
        data: keys.every(key => DAY.test(key)) ? keys.map(key => bucketText(key, 'day')) : keys,
        axisLine: axisLine(),
        axisTick: { show: false },
        axisLabel: { color: cssColour('muted'), hideOverlap: true },
      },
      yAxis: { type: 'value', splitNumber: 4, axisLabel: { color: cssColour('muted') }, splitLine: splitLine() },
      series: lines.map(({ name, values }, at) => ({
        id: `s${at}`,
        name,
        type: chart === 'line' ? 'line' : 'bar',
        ...(chart === 'bars' && props.by && { stack: 'all' }),
        barMaxWidth: 44,
        itemStyle: { color: palette.value[at % palette.value.length] },
        data: keys.map(key => values.get(key) ?? null),
      })),
    }),
    [keys, lines, chart],
  )
  return (
    <>
      {lines.length > 1 && (
        <ul class="legend row note">
          {lines.map(({ name }, at) => (
            <li key={name}>
              <span class="swatch" style={{ background: palette.value[at % palette.value.length] }} />
              <span title={name}>{name}</span>
            </li>
          ))}
        </ul>
      )}
      <Chart
        label={`${title} Chart with ${keys.length} columns. Arrow keys read them.`}
        columns={keys.length}
        height={HEIGHT}
        option={option}
        tip={({ column }) => (
          <>
            <strong>{keys[column]}</strong>
            <table>
              <tbody>
                {lines.map(({ name, values }) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>{valueCell(values.get(keys[column]!))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        )}
      />
    </>
  )
}
