// What a chart over periods draws: columns (buckets) and series, independent of how they are drawn.
import type { Cell, MetricAnswer, SplitValue } from '../../../metrics/answer-format.ts'
import type { MetricUnit } from '../../../metrics/declaration.ts'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import { daysIn, type Grain, isOfMonths, type Period } from '../../../metrics/periods.ts'
import type { ListedMetric, MetricAnswered } from '../api/metrics.ts'
import { bucketText, dayRange } from '../format/dates.ts'
import type { Column, Table } from '../parts/table.tsx'
import { colourOf, inOrder, labelOf, palette, valueKey } from '../state/colours.ts'
import { cellText } from './cell-text.ts'

export interface Bucket {
  key: string
  label: string
  /** The days, spelled out. */
  days: string
  isUnfinished: boolean
  /** True for a week or month of which the period has only some days. */
  isPart?: boolean
  /** False if no series is covered. */
  isCovered: boolean
}

export interface DrawnSeries {
  name: string
  colour: string
  split: SplitValue | null
  unit: MetricUnit
  isLevel: boolean
  cells: Cell[]
  /** A value in words, or why there is none. */
  text: (cell: Cell | undefined) => string
  /** True if the line goes on over columns without a value. */
  isSparse?: boolean
}

/** A value that rests on nothing else. */
export const certain = (value: number | null, n = 0): Cell => ({
  ...{ value, n, isCovered: true, isUnfinished: false, comparedWith: null },
})

export interface Drawn {
  columns: Bucket[]
  series: DrawnSeries[]
}

const isOfDays = (grain: Grain): boolean => grain === 'day' || grain === 'week' || grain === 'month'

/** Tells whether a week or month has days outside the period. */
const isCut = (days: Period, grain: Grain): boolean =>
  grain === 'month' ? !isOfMonths(days) : grain === 'week' && daysIn(days) < 7

interface DrawnInput {
  answers: readonly MetricAnswered[]
  metrics: readonly ListedMetric[]
  grain: Grain
  split: DimensionName | undefined
}

/** Returns runs of columns that are not covered, as pairs of the first and the last. */
export function uncovered(columns: readonly Pick<Bucket, 'isCovered'>[]): [number, number][] {
  const runs: [number, number][] = []
  for (const [at, { isCovered }] of columns.entries()) {
    if (isCovered) continue
    const last = runs.at(-1)
    if (last && last[1] === at - 1) last[1] = at
    else runs.push([at, at])
  }
  return runs
}

/** Returns the same figures as a table, whose rows are the places of the columns. */
export const tableOf = ({ columns, series }: Drawn): Table<number> => ({
  columns: [
    {
      key: 'period',
      title: 'Period',
      value: at => columns[at]!.key,
      cell: at => `${columns[at]!.days}${columns[at]!.isUnfinished ? ' (not over yet)' : ''}`,
    },
    ...series.flatMap(({ name, split, cells, text }): Column<number>[] => [
      {
        key: name,
        title: name,
        about: split ? valueKey(split) : '',
        isNumber: true,
        value: at => cells[at]?.value ?? null,
        cell: at => text(cells[at]),
      },
      { key: `${name} (n)`, title: '', value: at => cells[at]?.n ?? null, cell: null },
    ]),
    { key: 'exported', title: '', value: at => String(columns[at]!.isCovered), cell: null },
    { key: 'unfinished', title: '', value: at => String(columns[at]!.isUnfinished), cell: null },
  ],
  rows: columns.map((_, at) => at),
})

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
      unit: metric.unit,
      isLevel: metric.isLevel,
      cells,
      text: cell => cellText(cell, metric),
    }))
  }
  const series = answers.flatMap(seriesOf)
  const buckets = answers[0]?.buckets ?? []
  const columns = buckets.map(({ key, from, to }, at) => ({
    key,
    label: bucketText(key, grain),
    days: isOfDays(grain) ? dayRange({ from, to }) : bucketText(key, grain),
    isUnfinished: (isOfDays(grain) || grain === 'hour') && series.some(({ cells }) => cells[at]?.isUnfinished),
    isPart: isCut({ from, to }, grain),
    isCovered: series.length === 0 || series.some(({ cells }) => cells[at]?.isCovered),
  }))
  return { columns, series }
}
