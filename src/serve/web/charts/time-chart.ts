// Bars and lines over periods, as an option of ECharts.
import type { AgentChange } from '../api/pages.ts'
import { tickText } from '../format/values.ts'
import { cssColour } from '../state/colours.ts'
import { type Drawn, type DrawnSeries, uncovered } from './columns.ts'
import { axisLine, bareAxis, base, hatch, type Option, splitLine, uncoveredGround } from './drawing.ts'

export interface TimeChart extends Drawn {
  /** `share`: stacked to 100 %. */
  kind: 'bars' | 'line' | 'share'
  /** True for series that are parts of a whole. */
  isStacked: boolean
  /** Changes of agents by column. */
  marks: readonly (readonly AgentChange[])[]
  width: number
}

const LABELLED = 4
/** More lines of changes than these are pale. */
const FEW_MARKS = 6
const CHARACTER = 6.6
const MOST_LABEL = 150

/** Returns the numbers to draw; `share`: each part of its column. */
function numbersOf({ kind, series }: TimeChart, { cells }: DrawnSeries): (number | null)[] {
  return cells.map(({ value, isCovered, n }, at) => {
    if (value === null || (!isCovered && n === 0)) return null
    if (kind !== 'share') return value
    const whole = series.reduce((sum, one) => sum + (one.cells[at]?.value ?? 0), 0)
    return whole === 0 ? null : value / whole
  })
}

const BAR = { type: 'bar', barMaxWidth: 44, barCategoryGap: '24%' }

function bars(chart: TimeChart, one: DrawnSeries, at: number) {
  const isLast = at === chart.series.length - 1
  const rounded = chart.isStacked && !isLast ? 0 : [2, 2, 0, 0]
  return {
    id: `bars-${at}`,
    ...BAR,
    name: one.name,
    ...(chart.isStacked && { stack: 'all' }),
    itemStyle: { color: one.colour, borderRadius: rounded },
    data: numbersOf(chart, one).map((value, column) => ({
      value,
      ...((chart.columns[column]!.isUnfinished || chart.columns[column]!.isPart) && {
        itemStyle: { color: hatch(one.colour, cssColour('surface')), borderColor: one.colour, borderWidth: 1 },
      }),
    })),
  }
}

/** A line is dashed where it leads to an unfinished column. */
function lines(chart: TimeChart, one: DrawnSeries, at: number, labelled: boolean) {
  const numbers = numbersOf(chart, one)
  const isOpen = (column: number) => chart.columns[column]?.isUnfinished ?? false
  const shared = {
    type: 'line',
    name: one.name,
    lineStyle: { width: 2, color: one.colour },
    itemStyle: { color: one.colour },
    symbol: 'circle',
    symbolSize: 5,
    connectNulls: one.isSparse ?? false,
    // A point without neighbours has no line.
    showSymbol: numbers.length < 40,
    showAllSymbol: true,
    z: 3,
  }
  const solid = numbers.map((value, column) => (isOpen(column) ? null : value))
  const open = numbers.map((value, column) => (isOpen(column) || isOpen(column + 1) ? value : null))
  const end = {
    endLabel: { show: labelled, formatter: one.name, color: cssColour('text'), fontSize: 12, distance: 6 },
    labelLayout: { moveOverlap: 'shiftY' },
  }
  const whole = { ...shared, id: `line-${at}`, data: solid }
  if (!numbers.some((value, column) => isOpen(column) && value !== null)) return [{ ...whole, ...end }]
  const dashed = {
    ...{ ...shared, ...end, id: `open-${at}`, data: open },
    ...(one.isSparse && { showSymbol: false }),
    lineStyle: { ...shared.lineStyle, type: [4, 4] },
    itemStyle: { color: cssColour('surface'), borderColor: one.colour, borderWidth: 1.5 },
  }
  return [whole, dashed]
}

/** Observations behind a single line, as pale bars. */
function observations({ series, kind }: TimeChart) {
  const [one] = series
  const isAlone = one && kind === 'line' && series.length === 1 && one.cells.some(({ n }) => n > 0)
  if (!isAlone || one.isLevel || one.unit === 'count') return []
  return [
    {
      ...BAR,
      id: 'observations',
      name: 'n',
      yAxisIndex: 1,
      itemStyle: { color: cssColour('pale'), borderRadius: [2, 2, 0, 0] },
      data: one.cells.map(({ n }) => n),
      z: 1,
      silent: true,
    },
  ]
}

/** Grounds of missing coverage and lines of changes, on a series of their own. */
function backdrop({ columns, marks }: TimeChart) {
  const gaps = uncovered(columns)
  const all = marks.flatMap((some, at) => (some.length > 0 ? [at] : []))
  // Lines at most columns tell nothing apart: the pointer still names the changes.
  const changed = all.length > FEW_MARKS && all.length > columns.length / 2 ? [] : all
  if (gaps.length === 0 && changed.length === 0) return []
  const first = columns.length === 1 ? 0 : undefined
  return [
    {
      id: 'backdrop',
      // A bar would take room beside the others.
      type: 'line',
      data: columns.map(() => null),
      silent: true,
      markArea: {
        silent: true,
        itemStyle: { color: uncoveredGround() },
        label: { show: true, color: cssColour('muted'), fontSize: 11, position: 'insideTop' },
        data: gaps.map(([from, to]) => [
          { xAxis: first ?? from, name: (to - from + 1) / columns.length > 0.18 ? 'not exported' : '' },
          { xAxis: to },
        ]),
      },
      markLine: {
        silent: true,
        symbol: ['none', 'triangle'],
        symbolSize: 7,
        lineStyle: {
          color: cssColour('muted'),
          width: 1,
          type: 'solid',
          opacity: changed.length > FEW_MARKS ? 0.25 : 0.7,
        },
        label: { show: false },
        data: changed.map(at => ({ xAxis: at })),
      },
    },
  ]
}

/** True if the chart has its names at the ends of the lines rather than in a legend. */
export const hasEndLabels = ({ kind, series, width }: Pick<TimeChart, 'kind' | 'series' | 'width'>): boolean =>
  kind === 'line' &&
  series.length > 1 &&
  series.length <= LABELLED &&
  width >= 480 &&
  series.every(({ name }) => name.length * CHARACTER <= MOST_LABEL)

/** Steps of an axis of durations in seconds, up to four weeks. */
const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800,
]

/** Returns the step with which the axis has at most five ticks, and its end. */
function roundAxis({ series }: TimeChart): { interval: number; max: number } {
  const most = Math.max(0, ...series.flatMap(({ cells }) => cells.map(({ value }) => value ?? 0)))
  const interval = STEPS.find(step => most / step <= 4) ?? Math.ceil(most / 4)
  return { interval, max: interval * Math.max(1, Math.ceil(most / interval)) }
}

export function timeOption(chart: TimeChart): Option {
  const { kind, columns, series } = chart
  const unit = kind === 'share' ? 'share' : (series[0]?.unit ?? 'count')
  const labelled = hasEndLabels(chart)
  const longest = Math.max(0, ...series.map(({ name }) => name.length))
  const right = labelled ? Math.min(MOST_LABEL, longest * CHARACTER) + 14 : 12
  const drawn =
    kind === 'line'
      ? series.flatMap((one, at) => lines(chart, one, at, labelled))
      : series.map((one, at) => bars(chart, one, at))
  const behind = observations(chart)
  return {
    ...base(),
    grid: { left: 8, right, top: 12, bottom: 4, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    xAxis: {
      ...bareAxis(),
      data: columns.map(({ label }) => label),
      axisLine: axisLine(),
      axisLabel: { color: cssColour('muted'), hideOverlap: true, margin: 10 },
    },
    yAxis: [
      {
        type: 'value',
        ...(kind === 'share' && { max: 1, interval: 0.25 }),
        ...(kind === 'line' && unit === 'share' && { max: ({ max }: { max: number }) => (max > 0.75 ? 1 : null) }),
        ...(unit === 'count' && { minInterval: 1 }),
        splitNumber: 4,
        ...(unit === 'seconds' && roundAxis(chart)),
        axisLabel: { color: cssColour('muted'), formatter: (value: number) => tickText(value, unit) },
        splitLine: splitLine(),
      },
      // Pale bars fill the lower third.
      ...(behind.length > 0
        ? [{ type: 'value', show: false, min: 0, max: ({ max }: { max: number }) => max * 3 }]
        : []),
    ],
    series: [...backdrop(chart), ...behind, ...drawn],
  }
}
