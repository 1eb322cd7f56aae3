// Before and after a change of an agent: the same number of days on both sides, with an interval, and what else moved.
// It is no experiment, so nothing here says that the change is the reason.
import type { Cell } from '../../../metrics/answer-format.ts'
import { addDays, type Period } from '../../../metrics/periods.ts'
import { asOf } from '../api/client.ts'
import { type ListedMetric, type MetricAnswered, totalOf, useMetrics, usePeriodDays } from '../api/metrics.ts'
import { type AgentChange, type ShowTile, useAgentChanges } from '../api/pages.ts'
import { following } from '../api/resource.ts'
import { cellText } from '../charts/cell-text.ts'
import { dayRange, dayText } from '../format/dates.ts'
import { isClear, newcombe, wilson } from '../format/intervals.ts'
import { shareText } from '../format/values.ts'
import { Select } from '../parts/select.tsx'
import { Answered, Empty } from '../parts/states.tsx'
import { Tile } from '../parts/tile.tsx'
import { labelOf, valueKey } from '../state/colours.ts'
import { filters } from '../state/filters.ts'
import { query } from '../state/location.ts'
import { period } from '../state/period.ts'

const COMPARED = ['agent_resolution_rate', 'automation_rate', 'resolution_rate', 'takeover_rate', 'reopening_rate']
const SPANS = [7, 14, 28]

const idOf = ({ workspace, agent, day }: AgentChange): string => `${workspace}/${agent}/${day}`

const changeText = ({ day, agentTitle, agent, fields }: AgentChange): string =>
  `${dayText(day)}: ${agentTitle ?? agent} (${fields.slice(0, 3).join(', ')})`

interface Props {
  spec: ShowTile
  id: string
  metrics: ReadonlyMap<string, ListedMetric>
}

/** The choice is in the address: the change, the metric and the number of days. */
export function BeforeAfter({ spec, id, metrics }: Props) {
  const whole = usePeriodDays(period.value)
  const changes = following(whole, useAgentChanges(whole.data))
  const offered = COMPARED.flatMap(name => metrics.get(name) ?? [])
  const chosenAgents = filters.value.agent
  const shown = [...(changes.data ?? [])]
    .filter(({ workspace, agent }) => !chosenAgents || chosenAgents.includes(`${workspace}/${agent}`))
    .reverse()
  const metric = offered.find(({ name }) => name === query.value.get('compared')) ?? offered[0]
  const span = SPANS.find(days => String(days) === query.value.get('days')) ?? 14
  const today = asOf.value?.slice(0, 10) ?? ''
  // The newest one whose days afterwards are over.
  const newest = shown.find(({ day }) => addDays(day, span) < today) ?? shown[0]
  const change = shown.find(one => idOf(one) === query.value.get('change')) ?? newest
  return (
    <Tile id={id} {...spec} metrics={metric ? [metric] : []}>
      <Answered answer={changes} height={240}>
        {() =>
          change && metric ? (
            <>
              <div class="row">
                <Select
                  name="change"
                  title="Change"
                  value={idOf(change)}
                  options={shown.map(one => [idOf(one), changeText(one)])}
                />
                <Select
                  name="compared"
                  title="Figure"
                  value={metric.name}
                  options={offered.map(one => [one.name, one.title])}
                />
                <Select name="days" title="Days on each side" value={String(span)} options={SPANS.map(String)} />
              </div>
              <Comparison change={change} metric={metric} span={span} />
            </>
          ) : (
            <Empty>
              No agent was changed in this period. Changes come from the audit log of the API; a longer period may have
              some.
            </Empty>
          )
        }
      </Answered>
    </Tile>
  )
}

const VOLUME = 'conversations'

function Comparison({ change, metric, span }: { change: AgentChange; metric: ListedMetric; span: number }) {
  const asked = {
    metrics: [metric.name, VOLUME],
    split: 'channel' as const,
    filters: {
      agent: [`${change.workspace}/${change.agent}`],
      ...(filters.value.channel && { channel: filters.value.channel }),
    },
  }
  // The day of the change belongs to neither side.
  const sides = {
    before: { from: addDays(change.day, -span), to: addDays(change.day, -1) },
    after: { from: addDays(change.day, 1), to: addDays(change.day, span) },
  }
  const before = useMetrics({ ...asked, period: sides.before })
  const after = useMetrics({ ...asked, period: sides.after })
  return (
    <Answered answer={before} height={160}>
      {first => (
        <Answered answer={after} height={160}>
          {second => <Sides metric={metric} sides={sides} before={first} after={second} />}
        </Answered>
      )}
    </Answered>
  )
}

interface SidesProps {
  metric: ListedMetric
  sides: { before: Period; after: Period }
  before: readonly MetricAnswered[]
  after: readonly MetricAnswered[]
}

type Known = Cell & { value: number }

/** Returns why the two sides cannot be compared; null if they can. */
function doubtOf(before: Cell, after: Cell): string | null {
  if (!before.isCovered) return 'The days before the change were not exported completely.'
  if (after.isUnfinished) return 'The days after the change are not over yet: choose fewer days, or come back later.'
  if (!after.isCovered) return 'The days after the change were not exported completely.'
  if (before.value === null || after.value === null) return 'One side has too few conversations to say anything.'
  return null
}

function Sides({ metric, sides, before: [first, volumeBefore], after: [second, volumeAfter] }: SidesProps) {
  const [before, after] = [totalOf(first!), totalOf(second!)]
  const doubt = doubtOf(before, after)
  const side = (name: string, days: Period, cell: Cell) => {
    const interval = cell.value === null || cell.n === 0 ? null : wilson(cell as Known)
    return (
      <div key={name}>
        <h3 class="note">{name}</h3>
        <p class="value">{cellText(cell, metric)}</p>
        <p class="note">
          {interval && `95 % interval ${shareText(interval.low, 0)} to ${shareText(interval.high, 0)} · `}n ={' '}
          {cell.n.toLocaleString()}
        </p>
        <p class="note">{dayRange(days)}</p>
      </div>
    )
  }
  return (
    <>
      <div class="columns">
        {side('Before', sides.before, before)}
        {side('After', sides.after, after)}
      </div>
      <p class={doubt ? 'doubt' : undefined}>{doubt ?? difference(metric, before as Known, after as Known)}</p>
      {!doubt && <p class="note">{besides(volumeBefore!, volumeAfter!)}</p>}
    </>
  )
}

const pointsText = (share: number): string => `${share > 0 ? '+' : ''}${(share * 100).toFixed(1)}`

function difference({ title }: ListedMetric, before: Known, after: Known): string {
  const { low, high } = newcombe(before, after)
  const range = `${pointsText(after.value - before.value)} points, 95 % interval ${pointsText(low)} to ${pointsText(high)}`
  return isClear(before, after)
    ? `${title} differs: ${range}.`
    : `${title} does not differ more than chance explains: ${range}.`
}

const STEADY = 0.05

/** Says what else moved beside the difference: the volume, and the channel whose part of it changed most. */
function besides(before: MetricAnswered, after: MetricAnswered): string {
  const [first, second] = [totalOf(before).value ?? 0, totalOf(after).value ?? 0]
  const partOf = ({ series }: MetricAnswered, key: string, whole: number): number =>
    (series.find(({ split }) => split && valueKey(split) === key)?.cells[0]?.value ?? 0) / (whole || 1)
  const shifts = [...before.series, ...after.series].flatMap(({ split }) =>
    split ? [{ split, by: partOf(after, valueKey(split), second) - partOf(before, valueKey(split), first) }] : [],
  )
  const largest = shifts.sort((a, b) => Math.abs(b.by) - Math.abs(a.by))[0]
  const volume = `Conversations went from ${first.toLocaleString()} to ${second.toLocaleString()}`
  const mix =
    largest && Math.abs(largest.by) >= STEADY
      ? `${labelOf('channel', largest.split)} has ${pointsText(largest.by)} points of them`
      : 'their mix of channels stayed alike'
  return `What else moved: ${volume}, and ${mix}. Other changes may lie in the same days.`
}
