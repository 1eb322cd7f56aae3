// A tile that draws metrics over the page's period.
import { useMemo } from 'preact/hooks'
import type { Grain } from '../../../metrics/periods.ts'
import { type ListedMetric, type MetricAnswered, type MetricsQuestion, useMetrics } from '../api/metrics.ts'
import { type MetricsTile as Spec, useAgentChanges } from '../api/pages.ts'
import { drawnOf, tableOf } from '../charts/columns.ts'
import { MetricChart } from '../charts/metric-chart.tsx'
import { Ranking } from '../charts/ranking.tsx'
import { UNITS } from '../format/values.ts'
import { filterValue, labelOf } from '../state/colours.ts'
import { addressBehind, filtersFor, filters as pageFilters } from '../state/filters.ts'
import { go } from '../state/location.ts'
import { grainFor, period } from '../state/period.ts'
import { Answered, Empty } from './states.tsx'
import type { Table } from './table.tsx'
import { Tile } from './tile.tsx'

const HEIGHT = 240

/** Fields of an agent that shape its answers: instructions, model, tools, steps of the conversation. */
const SHAPING = /prompt|instruction|model|temperature|tool|node|knowledge/i

const GRAIN_WORDS: Readonly<Record<string, string>> = {
  none: 'whole period',
  hour: 'by hour',
  day: 'by day',
  week: 'by week',
  month: 'by month',
  weekday: 'by weekday',
  local_hour: 'by hour of the day, local time',
  weekday_hour: 'by weekday and local hour',
}

function grainOf({ chart, grain }: Spec, metrics: readonly ListedMetric[]) {
  if (chart === 'ranking') return 'none' as const
  if (grain !== 'auto') return grain
  const fitting = grainFor(period.value)
  // Levels are known by day.
  return fitting === 'hour' && metrics.some(({ isLevel }) => isLevel) ? ('day' as const) : fitting
}

const COARSER: Partial<Record<Grain, Grain>> = { hour: 'day', day: 'week', week: 'month' }
/** Part of the values that may be unknown for lack of observations before a coarser grain is drawn. */
const TOLERATED = 0.35

const drawnSeries = (answers: readonly MetricAnswered[]) =>
  answers.flatMap(({ series }) => (series.length > 1 ? series.slice(0, -1) : series))

/** Returns the part of the values with observations that have too few of them. Where the whole period has no value, no grain has. */
function sparsityOf(answers: readonly MetricAnswered[]): number {
  const known = drawnSeries(answers).filter(({ total }) => total?.value !== null)
  const observed = known.flatMap(({ cells }) => cells).filter(({ n }) => n > 0)
  return observed.length === 0 ? 0 : observed.filter(({ value }) => value === null).length / observed.length
}

const mostOf = (answers: readonly MetricAnswered[]): number =>
  Math.max(...drawnSeries(answers).flatMap(({ cells }) => cells.map(({ n }) => n)))

/** Asks with the given grain; if many values have too few observations, with the next coarser one. */
function useFittingMetrics(question: MetricsQuestion, grain: Grain, mayChange: boolean) {
  const fine = useMetrics({ ...question, grain })
  const coarser = mayChange && fine.data && sparsityOf(fine.data) > TOLERATED ? COARSER[grain] : undefined
  const coarse = useMetrics(coarser ? { ...question, grain: coarser } : null)
  return coarser ? { grain: coarser, isCoarser: true, answer: coarse } : { grain, isCoarser: false, answer: fine }
}

export function MetricsTile({ spec, id, metrics }: { spec: Spec; id: string; metrics: readonly ListedMetric[] }) {
  const { split, chart, top } = spec
  const { filters, ignored } = filtersFor(metrics, spec.filters)
  const question = {
    ...{ metrics: spec.metrics, period: period.value, filters },
    ...(split && { split, top }),
    ...(chart === 'ranking' && { compare: true }),
  }
  const { grain, isCoarser, answer } = useFittingMetrics(question, grainOf(spec, metrics), spec.grain === 'auto')
  const asked = { metrics: spec.metrics, period: period.value, grain, filters }
  const withMarks = chart === 'line' && spec.marks
  const days = answer.data?.[0]?.period ?? null
  const changes = useAgentChanges(withMarks ? days : null).data ?? []
  const agents = pageFilters.value.agent
  const shaping = changes.filter(({ fields }) => fields.some(field => SHAPING.test(field)))
  const shown = agents ? shaping.filter(one => agents.includes(`${one.workspace}/${one.agent}`)) : shaping
  const drawn = useMemo(
    () => answer.data && drawnOf({ answers: answer.data, metrics, grain, split }),
    [answer.data, metrics, grain, split],
  )
  const ranked = chart === 'ranking' && answer.data?.[0]
  const table = ranked ? rankingTable(ranked, split!) : drawn && tableOf(drawn)
  const [first] = metrics
  const openable = metrics.length === 1 && first!.hasConversations
  const subtitle = [
    metrics.map(({ title }) => title).join(', '),
    UNITS[first!.unit],
    `${GRAIN_WORDS[grain]}${isCoarser ? ', since shorter periods have too few observations' : ''}`,
  ].join(' · ')
  const isNothing = drawn?.series.every(({ cells }) => cells.every(({ n }) => n === 0))
  return (
    <Tile
      {...spec}
      {...{ id, subtitle, metrics, ignored, table }}
      sql={answer.data?.map(({ sql }) => sql).join(';\n\n') ?? null}
      isDrawn={chart !== 'ranking'}
    >
      <Answered answer={answer} height={HEIGHT}>
        {answers => {
          if (isNothing) return <Empty>{emptyText(answers)}</Empty>
          if (sparsityOf(answers) === 1)
            return (
              <Empty>
                Too few observations in every part of this period: {mostOf(answers)} at most. Choose a longer period, or
                fewer filters.
              </Empty>
            )
          if (chart === 'ranking')
            return (
              <Ranking
                metric={first!}
                split={split!}
                series={answers[0]!.series}
                lowest={spec.lowest}
                hrefOf={value =>
                  openable ? addressBehind({ ...asked, filters: { ...filters, [split!]: [filterValue(value)] } }) : null
                }
              />
            )
          return (
            <MetricChart
              {...drawn!}
              title={spec.title}
              kind={chart}
              isSplit={split !== undefined}
              grain={grain}
              changes={shown}
              onOpen={openable ? bucket => go(addressBehind({ ...asked, bucket })) : undefined}
            />
          )
        }}
      </Answered>
    </Tile>
  )
}

function emptyText(answers: readonly MetricAnswered[]): string {
  const cells = answers.flatMap(({ series }) => series.at(-1)!.cells)
  return cells.every(({ isCovered }) => !isCovered)
    ? 'This period was not exported. Pipeline shows how far the export has come.'
    : 'There is nothing to count in this period with these filters.'
}

/** The ranking, for CSV: its bars are text already. */
function rankingTable({ metric, series }: MetricAnswered, split: NonNullable<Spec['split']>): Table<number> {
  const shown = series.flatMap(({ split: of, total }) => (of && total ? [{ of, total }] : []))
  return {
    columns: [
      { key: 'workspace', title: '', value: at => shown[at]!.of.workspaceId },
      { key: split, title: '', value: at => shown[at]!.of.value },
      { key: 'label', title: '', value: at => labelOf(split, shown[at]!.of) },
      { key: metric, title: '', value: at => shown[at]!.total.value },
      { key: 'n', title: '', value: at => shown[at]!.total.n },
    ],
    rows: shown.map((_, at) => at),
  }
}
