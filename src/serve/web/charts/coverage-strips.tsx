// Which days of each agent were exported, as a strip of days. Full marks are exported, low ones are not: colour alone says nothing.
import { useState } from 'preact/hooks'
import type { Cell } from '../../../metrics/answer-format.ts'
import { type MetricAnswered, useMetrics } from '../api/metrics.ts'
import { dayRange } from '../format/dates.ts'
import { Answered, Empty } from '../parts/states.tsx'
import type { Table } from '../parts/table.tsx'
import { Tile } from '../parts/tile.tsx'
import { labelOf, valueKey } from '../state/colours.ts'
import { uncovered } from './columns.ts'

const SHOWN = 20
const HEIGHT = 16
const LOW = 5

interface Strip {
  key: string
  name: string
  cells: readonly Cell[]
  /** Runs of days that were not exported. */
  missing: { from: string; to: string }[]
  days: number
}

function stripsOf({ series, buckets }: MetricAnswered): Strip[] {
  const strips = series.flatMap(({ split, cells }): Strip[] => {
    if (!split || split.isOther) return []
    const missing = uncovered(cells).map(([from, to]) => ({ from: buckets[from]!.from, to: buckets[to]!.to }))
    const days = cells.filter(({ isCovered }) => isCovered).length
    return [{ key: valueKey(split), name: labelOf('agent', split), cells, missing, days }]
  })
  return strips.sort((a, b) => a.days - b.days)
}

/** Asks for the days of each agent. */
export const useCoverage = (isAllowed: boolean) =>
  useMetrics(
    isAllowed ? { metrics: ['conversations'], period: 'last-90-days', grain: 'day', split: 'agent', top: 1_000 } : null,
  )

/** Returns the days of each agent that were not exported, in words; those before its first exported day may never be wanted. */
export const missingDays = (answer: MetricAnswered): string[] =>
  stripsOf(answer).flatMap(({ name, cells, missing, days }) => {
    const later = days > 0 && !cells[0]!.isCovered ? missing.slice(1) : missing
    return later.length === 0 ? [] : [`${name}: ${daysText(later)}`]
  })

export function CoverageStrips() {
  const [isAll, setAll] = useState(false)
  const answer = useCoverage(true)
  const title = 'Which days are exported?'
  return (
    <Tile
      id="coverage"
      title={title}
      subtitle="By agent and day · last 90 days · high: exported completely, low: not yet"
      width="full"
      sql={answer.data?.[0]?.sql ?? null}
      table={answer.data && tableOf(answer.data[0]!)}
    >
      <Answered answer={answer} height={120}>
        {([found]) => {
          const strips = stripsOf(found!)
          if (strips.length === 0) return <Empty>No conversation was exported in these days.</Empty>
          return (
            <>
              <ul class="strips">
                {strips.slice(0, isAll ? undefined : SHOWN).map(strip => (
                  <StripRow key={strip.key} strip={strip} />
                ))}
              </ul>
              {strips.length > SHOWN && !isAll && (
                <button type="button" onClick={() => setAll(true)}>
                  Show all {strips.length} agents
                </button>
              )}
            </>
          )
        }}
      </Answered>
    </Tile>
  )
}

const NAMED = 3

/** Names the last runs of days. */
const daysText = (runs: Strip['missing']): string =>
  runs.slice(-NAMED).map(dayRange).join(', ') + (runs.length > NAMED ? ` and ${runs.length - NAMED} more` : '')

function StripRow({ strip: { name, cells, missing, days } }: { strip: Strip }) {
  const marks = (isCovered: boolean) =>
    cells
      .map((cell, at) => (cell.isCovered === isCovered ? `M${at} ${HEIGHT}h.8v-${isCovered ? HEIGHT : LOW}h-.8z` : ''))
      .join('')
  return (
    <li>
      <span class="cut" title={name}>
        {name}
      </span>
      <svg viewBox={`0 0 ${cells.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path fill="var(--accent)" d={marks(true)} />
        <path fill="var(--bad)" d={marks(false)} />
      </svg>
      <span class="note">
        {days} of {cells.length} days
        {missing.length > 0 && `; missing: ${daysText(missing)}`}
      </span>
    </li>
  )
}

/** Every agent and day, for CSV. */
const tableOf = ({ series, buckets }: MetricAnswered): Table<{ agent: string; day: string; isCovered: boolean }> => ({
  columns: [
    { key: 'agent', title: 'Agent', value: ({ agent }) => agent },
    { key: 'day', title: 'Day', value: ({ day }) => day },
    { key: 'exported', title: 'Exported', value: ({ isCovered }) => String(isCovered) },
  ],
  rows: series.flatMap(({ split, cells }) =>
    split && !split.isOther
      ? cells.map(({ isCovered }, at) => ({ agent: valueKey(split), day: buckets[at]!.key, isCovered }))
      : [],
  ),
})
