// A chart of the rows of a SELECT: x, one or more numbers, and a column by which they are split.
import { useMemo } from 'preact/hooks'
import { valueCell } from '../format/cells.ts'
import { bucketText } from '../format/dates.ts'
import type { SqlRow } from '../parts/result-table.tsx'
import { palette } from '../state/colours.ts'
import { certain, type Drawn } from './columns.ts'
import { MetricChart } from './metric-chart.tsx'

interface QuickChartProps {
  title: string
  rows: readonly SqlRow[]
  chart: 'bars' | 'line'
  x: string
  y: readonly string[]
  by?: string | undefined
}

const MOST_SERIES = 8
const DAY = /^\d{4}-\d\d-\d\d$/

type Line = [name: string, values: Map<string, number>]

/** Returns the largest lines if they are many. `isStacked`: the others are one, so that no stack is too low. */
function most(lines: Line[], isStacked: boolean): Line[] {
  if (lines.length <= MOST_SERIES) return lines
  const sizeOf = ([, values]: Line) => [...values.values()].reduce((sum, one) => sum + Math.abs(one), 0)
  const ranked = [...lines].sort((a, b) => sizeOf(b) - sizeOf(a))
  const rest = ranked.splice(MOST_SERIES - 1)
  const others = new Map<string, number>()
  if (isStacked)
    for (const [, values] of rest) for (const [key, value] of values) others.set(key, (others.get(key) ?? 0) + value)
  return [...ranked, [`${rest.length} ${isStacked ? 'others' : 'more, in the table'}`, others]]
}

/** Returns what is drawn; rows with equal x and name add up. */
function drawnOfRows({ rows, chart, x, y, by }: QuickChartProps): Drawn {
  const keys = [...new Set(rows.map(row => valueCell(row[x])))]
  const lines = new Map<string, Map<string, number>>()
  for (const row of rows)
    for (const column of y) {
      const name = by === undefined ? column : y.length > 1 ? `${valueCell(row[by])} · ${column}` : valueCell(row[by])
      const line = lines.get(name) ?? new Map<string, number>()
      const key = valueCell(row[x])
      if (row[column] != null) line.set(key, (line.get(key) ?? 0) + Number(row[column]))
      lines.set(name, line)
    }
  const areDays = keys.every(key => DAY.test(key))
  return {
    columns: keys.map(key => {
      const label = areDays ? bucketText(key, 'day') : key
      return { key, label, days: label, isUnfinished: false, isCovered: true }
    }),
    series: most([...lines], chart === 'bars' && by !== undefined).map(([name, values], at) => ({
      ...{ name, split: null, unit: 'unstated', isLevel: false },
      colour: palette.value[at % palette.value.length]!,
      cells: keys.map(key => certain(values.get(key) ?? null)),
      text: cell => valueCell(cell?.value),
    })),
  }
}

export function QuickChart(props: QuickChartProps) {
  const { title, rows, chart, x, y, by } = props
  const drawn = useMemo(() => drawnOfRows(props), [rows, chart, x, y.join(), by, palette.value])
  return <MetricChart {...drawn} title={title} kind={chart} isSplit={by !== undefined} grain="none" />
}
