// How the sessions of the billing period burn down, and whether they last until its end.
import { useMemo } from 'preact/hooks'
import { PERIOD_DAYS } from '../../../core/planning/estimate.ts'
import { addDays } from '../../../metrics/periods.ts'
import { type ShowTile, useQuota, type WorkspaceQuota } from '../api/pages.ts'
import { certain, type Drawn, tableOf } from '../charts/columns.ts'
import { MetricChart } from '../charts/metric-chart.tsx'
import { bucketText, dayRange, dayText } from '../format/dates.ts'
import { countText } from '../format/values.ts'
import { Answered, Empty } from '../parts/states.tsx'
import { Tile } from '../parts/tile.tsx'
import { palette } from '../state/colours.ts'
import { filters } from '../state/filters.ts'
import { daysBetween, projectionOf } from '../state/quota-projection.ts'

type Spec = Pick<ShowTile, 'title' | 'below' | 'width'>

/** A tile for each workspace. */
export function Quota({ spec, id }: { spec: Spec; id: string }) {
  const answer = useQuota()
  const chosen = filters.value.workspace
  const shown = (answer.data ?? []).filter(({ workspace }) => !chosen || chosen.includes(workspace))
  if (shown.length === 0)
    return (
      <Tile id={id} {...spec}>
        <Answered answer={answer} height={260}>
          {() => <Empty>The vendor has not reported a quota yet. The first sync shows it.</Empty>}
        </Answered>
      </Tile>
    )
  return (
    <>
      {shown.map((quota, at) => (
        <BurnDown
          key={quota.workspace}
          id={at === 0 ? id : `${id}-${quota.workspace}`}
          spec={shown.length === 1 ? spec : { ...spec, title: `${spec.title} (${quota.workspace})` }}
          quota={quota}
        />
      ))}
    </>
  )
}

function BurnDown({ spec, id, quota }: { spec: Spec; id: string; quota: WorkspaceQuota }) {
  const drawn = useMemo(() => drawnOf(quota), [quota, palette.value])
  const { text, isDoubtful } = quotaSentence(quota)
  return (
    <Tile
      id={id}
      {...spec}
      subtitle="Sessions left of the included ones · by day · dashed: at the present pace"
      table={tableOf(drawn)}
      isDrawn
    >
      <p class={isDoubtful ? 'doubt' : undefined}>
        <b>{text}</b>
        <small class="block">
          The vendor does not say when a period ends: {dayText(quota.ends)} is {PERIOD_DAYS} days after its first
          report.
        </small>
      </p>
      <MetricChart {...drawn} title={spec.title} kind="line" isSplit={false} grain="day" />
    </Tile>
  )
}

/** Says what the quota comes to. */
function quotaSentence(quota: WorkspaceQuota): { text: string; isDoubtful: boolean } {
  const { includedSessions: included, ends, overageSessions, overagePacks, days } = quota
  const of = `${countText(included)} included sessions`
  if (overageSessions > 0) {
    const packs = overagePacks > 0 ? `, for which ${countText(overagePacks)} overage packs were charged` : ''
    const text = `The ${of} are used up: ${countText(overageSessions)} were used beyond them${packs}.`
    return { text, isDoubtful: true }
  }
  const projection = projectionOf(quota)
  if (projection === null) {
    const used = countText(days.at(-1)?.usedSessions ?? 0)
    const text = `${used} of ${of} are used. A pace is known once the quota was reported on a second day.`
    return { text, isDoubtful: false }
  }
  const { perDay, usedUpOn, atEnd } = projection
  const pace = `At the pace of ${dayRange(projection)} (${countText(Math.round(perDay))} sessions a day, without history)`
  const end = usedUpOn
    ? `the ${of} are used up on ${dayText(usedUpOn)}, ${daysBetween(usedUpOn, ends)} days before the period ends`
    : `${countText(atEnd)} of ${of} are used by ${dayText(ends)}`
  return { text: `${pace}, ${end}.`, isDoubtful: usedUpOn !== null }
}

/** Days without a report have no value; those after the last one have that of the present pace. */
function drawnOf(quota: WorkspaceQuota): Drawn {
  const { days, ends, includedSessions: included } = quota
  const [first, last] = [days[0]!, days.at(-1)!]
  const used = new Map(days.map(({ day, usedSessions }) => [day, usedSessions]))
  const projection = projectionOf(quota)
  const dates = Array.from({ length: daysBetween(first.day, ends) + 1 }, (_, at) => addDays(first.day, at))
  const leftOn = (day: string): number | null => {
    const known = used.get(day)
    const ahead = daysBetween(last.day, day)
    if (known !== undefined) return Math.max(0, included - known)
    return projection && ahead > 0
      ? Math.round(Math.max(0, included - last.usedSessions - ahead * projection.perDay))
      : null
  }
  return {
    columns: dates.map(day => ({
      ...{ key: day, label: bucketText(day, 'day'), days: dayText(day) },
      ...{ isUnfinished: day > last.day, isCovered: true },
    })),
    series: [
      {
        ...{ name: 'Sessions left', split: null, unit: 'count', isLevel: true, isSparse: true },
        colour: palette.value[0]!,
        cells: dates.map(day => certain(leftOn(day), used.has(day) ? 1 : 0)),
        text: cell => (cell?.value == null ? 'no report' : `${cell.n > 0 ? '' : 'about '}${countText(cell.value)}`),
      },
    ],
  }
}
