// How the sessions of the billing period burn down, and whether they last until its end.
import { useCallback, useMemo } from 'preact/hooks'
import { PERIOD_DAYS } from '../../../core/planning/estimate.ts'
import type { ShowTile } from '../api/pages.ts'
import { useQuota, type WorkspaceQuota } from '../api/quota.ts'
import { Chart } from '../charts/chart.tsx'
import { axisLine, base, type Option, splitLine } from '../charts/drawing.ts'
import { bucketText, dayRange, dayText } from '../format/dates.ts'
import { countText, tickText } from '../format/values.ts'
import { Answered, Empty } from '../parts/states.tsx'
import { DataTable } from '../parts/table.tsx'
import { Tile } from '../parts/tile.tsx'
import { cssColour, palette } from '../state/colours.ts'
import { filters } from '../state/filters.ts'
import { daysBetween, laterDay, projectionOf } from '../state/quota-projection.ts'

const HEIGHT = 220

export function Quota({ spec, id }: { spec: Pick<ShowTile, 'title' | 'below' | 'width'>; id: string }) {
  const answer = useQuota()
  const chosen = filters.value.workspace
  const shown = (answer.data ?? []).filter(({ workspace }) => !chosen || chosen.includes(workspace))
  const isOne = shown.length === 1
  return (
    <Tile
      id={id}
      title={spec.title}
      subtitle="Sessions left of the included ones · by day · dashed: at the present pace"
      below={spec.below}
      width={spec.width}
      csv={answer.data && (() => csvOf(shown))}
      table={answer.data && (() => <QuotaTable title={spec.title} quotas={shown} />)}
    >
      <Answered answer={answer} height={HEIGHT + 40}>
        {() =>
          shown.length === 0 ? (
            <Empty>The vendor has not reported a quota yet. The first sync shows it.</Empty>
          ) : (
            shown.map(quota => (
              <section key={quota.workspace} class="stack" aria-label={`Quota of ${quota.workspace}`}>
                {!isOne && <h3>{quota.workspace}</h3>}
                <Sentence quota={quota} />
                <BurnDown title={spec.title} quota={quota} />
              </section>
            ))
          )
        }
      </Answered>
    </Tile>
  )
}

const perDayText = (perDay: number): string => countText(Math.round(perDay))

/** Says what the quota comes to. */
function quotaSentence(quota: WorkspaceQuota): { text: string; isDoubtful: boolean } {
  const { includedSessions: included, ends, overageSessions, overagePacks, days } = quota
  const projection = projectionOf(quota)
  const used = days.at(-1)?.usedSessions ?? 0
  const of = `${countText(included)} included sessions`
  if (overageSessions > 0)
    return {
      text: `The ${of} are used up: ${countText(overageSessions)} were used beyond them${overagePacks > 0 ? `, for which ${countText(overagePacks)} overage packs were charged` : ''}.`,
      isDoubtful: true,
    }
  if (projection === null)
    return {
      text: `${countText(used)} of ${of} are used. A pace is known once the quota was reported on a second day.`,
      isDoubtful: false,
    }
  const pace = `At the pace of ${dayRange(projection)} (${perDayText(projection.perDay)} sessions a day, without history)`
  if (projection.usedUpOn)
    return {
      text: `${pace}, the ${of} are used up on ${dayText(projection.usedUpOn)}, ${daysBetween(projection.usedUpOn, ends)} days before the period ends.`,
      isDoubtful: true,
    }
  return { text: `${pace}, ${countText(projection.atEnd)} of ${of} are used by ${dayText(ends)}.`, isDoubtful: false }
}

function Sentence({ quota }: { quota: WorkspaceQuota }) {
  const { text, isDoubtful } = quotaSentence(quota)
  return (
    <p class={isDoubtful ? 'doubt' : undefined}>
      <b>{text}</b>
      <small class="block">
        The vendor does not say when a period ends: {dayText(quota.ends)} is {PERIOD_DAYS} days after its first report.
      </small>
    </p>
  )
}

interface Point {
  day: string
  /** Sessions left; null on days without a report. */
  left: number | null
  projected: number | null
}

function pointsOf(quota: WorkspaceQuota): Point[] {
  const { days, ends, includedSessions: included } = quota
  const [first, last] = [days[0]!, days.at(-1)!]
  const used = new Map(days.map(({ day, usedSessions }) => [day, usedSessions]))
  const projection = projectionOf(quota)
  return Array.from({ length: daysBetween(first.day, ends) + 1 }, (_, at) => {
    const day = laterDay(first.day, at)
    const known = used.get(day)
    const ahead = daysBetween(last.day, day)
    return {
      day,
      left: known === undefined ? null : Math.max(0, included - known),
      projected:
        projection && ahead >= 0
          ? Math.round(Math.max(0, included - last.usedSessions - ahead * projection.perDay))
          : null,
    }
  })
}

function BurnDown({ title, quota }: { title: string; quota: WorkspaceQuota }) {
  const points = useMemo(() => pointsOf(quota), [quota])
  const option = useCallback((): Option => {
    const colour = palette.value[0]!
    const line = (id: string, data: (number | null)[], isDashed: boolean) => ({
      id,
      type: 'line',
      data,
      connectNulls: true,
      showSymbol: !isDashed,
      symbol: 'circle',
      symbolSize: 5,
      lineStyle: { width: 2, color: colour, ...(isDashed && { type: [4, 4] }) },
      itemStyle: { color: colour },
    })
    return {
      ...base(),
      grid: { left: 8, right: 16, top: 12, bottom: 4, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
      xAxis: {
        type: 'category',
        data: points.map(({ day }) => bucketText(day, 'day')),
        axisLine: axisLine(),
        axisTick: { show: false },
        axisLabel: { color: cssColour('muted'), hideOverlap: true, margin: 10 },
      },
      yAxis: {
        type: 'value',
        min: 0,
        max: quota.includedSessions || undefined,
        splitNumber: 4,
        axisLabel: { color: cssColour('muted'), formatter: (value: number) => tickText(value, 'count') },
        splitLine: splitLine(),
      },
      series: [
        line(
          'left',
          points.map(({ left }) => left),
          false,
        ),
        line(
          'projected',
          points.map(({ projected }) => projected),
          true,
        ),
      ],
    }
  }, [points])
  return (
    <Chart
      label={`${title} Chart with ${points.length} days. Arrow keys read them.`}
      columns={points.length}
      height={HEIGHT}
      option={option}
      tip={({ column }) => {
        const { day, left, projected } = points[column]!
        return (
          <>
            <strong>{dayText(day)}</strong>
            <span class="note">
              {left !== null
                ? `${countText(left)} sessions left`
                : projected !== null
                  ? `about ${countText(projected)} sessions left at this pace`
                  : 'no report on this day'}
            </span>
          </>
        )
      }}
    />
  )
}

const TITLES = ['Workspace', 'Day', 'Sessions used', 'Of these, history since the report before', 'Sessions left']

const rowsOf = (quotas: readonly WorkspaceQuota[]) =>
  quotas.flatMap(({ workspace, days, includedSessions }) =>
    days.map(({ day, usedSessions, historySessions }) => ({
      ...{ workspace, day, used: usedSessions, history: historySessions },
      left: Math.max(0, includedSessions - usedSessions),
    })),
  )

const csvOf = (quotas: readonly WorkspaceQuota[]): string[][] => [
  ['workspace', 'day', 'used', 'history', 'left'],
  ...rowsOf(quotas).map(row => Object.values(row).map(String)),
]

function QuotaTable({ title, quotas }: { title: string; quotas: readonly WorkspaceQuota[] }) {
  const keys = ['workspace', 'day', 'used', 'history', 'left'] as const
  return (
    <DataTable
      caption={title}
      columns={keys.map((key, at) => ({ key, title: TITLES[at]!, isNumber: at > 1 }))}
      rows={rowsOf(quotas).map(row => ({
        key: `${row.workspace} ${row.day}`,
        cells: {
          ...{ workspace: row.workspace, day: dayText(row.day), used: countText(row.used) },
          ...{ history: countText(row.history), left: countText(row.left) },
        },
        values: row,
      }))}
      sort={null}
    />
  )
}
