// The large figures at the top of a page: value, n, change against the period before where that is covered, and a small trend.
import type { Cell } from '../../../metrics/answer-format.ts'
import { type ListedMetric, type MetricAnswered, totalOf, useMetrics } from '../api/metrics.ts'
import { cellText } from '../charts/cell-text.ts'
import { Sparkline } from '../charts/sparkline.tsx'
import { dayRange } from '../format/dates.ts'
import { changeText, countText, toneOf, tooFewText, valueText } from '../format/values.ts'
import { addressBehind, filtersFor } from '../state/filters.ts'
import { grainFor, period } from '../state/period.ts'
import { Answered } from './states.tsx'

export function Figures({ metrics }: { metrics: readonly ListedMetric[] }) {
  return (
    <section class="columns" aria-label="Key figures">
      {metrics.map(metric => (
        <Figure key={metric.name} metric={metric} />
      ))}
    </section>
  )
}

function Figure({ metric }: { metric: ListedMetric }) {
  const { filters, ignored } = filtersFor([metric])
  const asked = { metrics: [metric.name], period: period.value, filters }
  const whole = useMetrics({ ...asked, compare: true })
  const trend = useMetrics({ ...asked, grain: grainFor(period.value) })
  const href = metric.hasConversations ? addressBehind(asked) : null
  return (
    <article class="figure card">
      <h2 title={`${metric.definition} ${metric.misleads}`}>{metric.title}</h2>
      <Answered answer={whole} height={92}>
        {([answer]) => {
          const cell = totalOf(answer!)
          return (
            <>
              <p class="value">
                <FigureValue cell={cell} metric={metric} href={href} />
              </p>
              <p class="change note">
                {compared(cell, metric, answer!)}
                {metric.unit !== 'count' && <span class="block">n = {countText(cell.n)}</span>}
              </p>
            </>
          )
        }}
      </Answered>
      <Sparkline cells={trend.data?.[0]?.series.at(-1)?.cells ?? []} />
      {ignored.length > 0 && <p class="note">Not filtered by {ignored.join(' and ')}.</p>}
    </article>
  )
}

function FigureValue({ cell, metric, href }: { cell: Cell; metric: ListedMetric; href: string | null }) {
  if (cell.value === null) return <span class="unknown">{cellText(cell, metric)}</span>
  const [text, unit] = valueText(cell.value, metric.unit, cell.n).split(/ (?=tokens$|units$)/)
  const shown = (
    <>
      {text} {unit && <small>{unit}</small>}
    </>
  )
  return href && cell.n > 0 ? (
    <a href={href} title="Show the conversations">
      {shown}
    </a>
  ) : (
    shown
  )
}

/** Says how the value changed, or why that cannot be said. */
function compared(cell: Cell, { unit, better }: ListedMetric, { periodBefore }: MetricAnswered) {
  const { value, comparedWith } = cell
  if (!cell.isCovered) return <span class="doubt block">not all exported</span>
  if (cell.isUnfinished) return <span class="block">period not over yet</span>
  const days = periodBefore ? dayRange(periodBefore) : 'the period before'
  if (!comparedWith)
    return (
      <span class="block" title={`${days} was not exported completely`}>
        nothing to compare with
      </span>
    )
  if (value === null) return null
  if (comparedWith.value === null) return <span class="block">before: {tooFewText(comparedWith.n)}</span>
  const text = changeText(value, comparedWith.value, unit)
  const before = valueText(comparedWith.value, unit, comparedWith.n)
  const direction = Math.sign(value - comparedWith.value)
  const tone = toneOf(direction, better)
  const arrow = direction > 0 ? '▲' : direction < 0 ? '▼' : ''
  return (
    <span class="block" title={`${days}: ${before}`}>
      <b class={tone}>
        {arrow} {direction === 0 ? 'unchanged' : (text ?? '')}
        {tone && <span class="hidden"> ({tone === 'good' ? 'better' : 'worse'})</span>}
      </b>{' '}
      from {before}
    </span>
  )
}
