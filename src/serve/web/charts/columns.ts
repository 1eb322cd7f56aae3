// What a chart over periods draws: columns (buckets) and series, independent of how they are drawn.
import type { Cell, MetricAnswer, SplitValue } from '../../../metrics/answer-format.ts'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import type { Grain } from '../../../metrics/periods.ts'
import type { ListedMetric, MetricAnswered } from '../api/metrics.ts'
import { bucketText, dayRange } from '../format/dates.ts'
import { colourOf, inOrder, labelOf, palette } from '../state/colours.ts'

export interface Column {
  key: string
  label: string
  /** The days, spelled out. */
  days: string
  isUnfinished: boolean
  /** False if no series is covered. */
  isCovered: boolean
}

export interface DrawnSeries {
  name: string
  colour: string
  split: SplitValue | null
  metric: ListedMetric
  cells: Cell[]
}

export interface Drawn {
  columns: Column[]
  series: DrawnSeries[]
}

const isOfDays = (grain: Grain): boolean => grain === 'day' || grain === 'week' || grain === 'month'

export interface DrawnInput {
  answers: readonly MetricAnswered[]
  metrics: readonly ListedMetric[]
  grain: Grain
  split: DimensionName | undefined
}

/** Splits without a value in any bucket are left out. */
const isEmpty = ({ cells }: { cells: readonly Cell[] }): boolean => cells.every(({ n, value }) => n === 0 && !value)

/** Returns the columns and series of answers with the same buckets. */
export function drawnOf({ answers, metrics, grain, split }: DrawnInput): Drawn {
  const seriesOf = (answer: MetricAnswer, at: number): DrawnSeries[] => {
    const metric = metrics[at]!
    const found = answer.series.filter(one => (split ? one.split !== null && !isEmpty(one) : one.split === null))
    const shown = split ? inOrder(split, found) : found
    return shown.map(({ split: value, cells }) => ({
      name: value && split ? labelOf(split, value) : metric.title,
      colour: value && split ? colourOf(split, value) : palette.value[at % palette.value.length]!,
      split: value,
      metric,
      cells,
    }))
  }
  const series = answers.flatMap(seriesOf)
  const columns = (answers[0]?.buckets ?? []).map(({ key, from, to }, at) => ({
    key,
    label: bucketText(key, grain),
    days: isOfDays(grain) ? dayRange({ from, to }) : bucketText(key, grain),
    isUnfinished: isOfDays(grain) && series.some(({ cells }) => cells[at]?.isUnfinished),
    isCovered: series.length === 0 || series.some(({ cells }) => cells[at]?.isCovered),
  }))
  return { columns, series }
}
