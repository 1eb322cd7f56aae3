// Values of a dimension as horizontal bars, with the period before as a thin mark.
import type { Series, SplitValue } from '../../../metrics/answer-format.ts'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import type { ListedMetric } from '../api/metrics.ts'
import { valueText } from '../format/values.ts'
import { colourOf, labelOf, valueKey } from '../state/colours.ts'
import { cellText } from './cell-text.ts'

/** Things that have their colour on every page. */
const KNOWN_BY_COLOUR: readonly DimensionName[] = ['agent', 'channel', 'outcome', 'workspace']

interface RankingProps {
  metric: ListedMetric
  split: DimensionName
  series: readonly Series[]
  /** True if the lowest value comes first. */
  lowest: boolean | undefined
  hrefOf: (value: SplitValue) => string | null
}

export function Ranking({ metric, split, series, lowest, hrefOf }: RankingProps) {
  const rows = series.flatMap(({ split: value, total }) => (value && total && total.n > 0 ? [{ value, total }] : []))
  const rank = (value: number | null) => (value === null ? -Infinity : lowest ? -value : value)
  rows.sort((a, b) => Number(a.value.isOther) - Number(b.value.isOther) || rank(b.total.value) - rank(a.total.value))
  const most = Math.max(...rows.flatMap(({ total }) => [total.value ?? 0, total.comparedWith?.value ?? 0]), 0) || 1
  return (
    <ol class="ranking">
      {rows.map(({ value, total }) => {
        const before = total.comparedWith?.value
        const href = value.isOther ? null : hrefOf(value)
        const name = labelOf(split, value)
        return (
          <li key={valueKey(value) + value.isOther}>
            <span class="cut" title={name}>
              {href ? <a href={href}>{name}</a> : name}
            </span>
            <span class="ranking-bar" aria-hidden="true">
              <span
                style={{
                  width: `${((total.value ?? 0) / most) * 100}%`,
                  background: KNOWN_BY_COLOUR.includes(split) ? colourOf(split, value) : 'var(--accent)',
                }}
              />
              {before != null && (
                <i
                  style={{ left: `${(before / most) * 100}%` }}
                  title={`before: ${valueText(before, metric.unit, total.comparedWith!.n)}`}
                />
              )}
            </span>
            <span class="number">
              {cellText(total, metric)}
              {metric.unit !== 'count' && total.value !== null && <small> n = {total.n.toLocaleString()}</small>}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
