// What changed against the period before, in sentences made from explanations. Causes are not claimed: only whose figures moved.
import type { Cell } from '../../../metrics/answer-format.ts'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import { type Explanation, type ListedMetric, totalOf, useEach, useExplanations } from '../api/metrics.ts'
import { isClear } from '../format/intervals.ts'
import { toneOf, valueText } from '../format/values.ts'
import { filterValue, labelOf, valueKey } from '../state/colours.ts'
import { addressBehind, filtersFor } from '../state/filters.ts'
import { period } from '../state/period.ts'
import { Answered } from './states.tsx'

interface ChangesProps {
  metrics: readonly ListedMetric[]
  by: readonly DimensionName[]
}

interface Move {
  metric: ListedMetric
  before: number
  after: number
  nBefore: number
  n: number
}

const SENTENCES = 3
/** Counts and amounts that move less than this are called steady. */
const STEADY = 0.05

/** Counts are as sure as chance allows (two standard deviations of a Poisson count); other values have no simple interval. */
function isNotable({ metric, before, after, n, nBefore }: Move): boolean {
  if (metric.unit === 'share') return isClear({ share: before, n: nBefore }, { share: after, n })
  if (metric.unit === 'count' && Math.abs(after - before) < 2 * Math.sqrt(after + before)) return false
  return Math.abs(after - before) > STEADY * Math.abs(before || 1)
}

const sizeOf = ({ before, after }: Move): number => Math.abs(after - before) / (Math.abs(before) || 1)

function whyNone(cells: readonly Cell[]): string {
  if (cells.every(cell => cell.isUnfinished))
    return 'This period is not over yet. Choose one that has ended to compare it with the one before.'
  if (cells.every(cell => !cell.isCovered)) return 'This period was not exported completely, so it is not compared.'
  if (cells.every(cell => cell.comparedWith === null))
    return 'The period before was not exported completely, so there is nothing to compare with.'
  return 'Nothing moved more than chance explains, compared with the period before.'
}

export function Changes({ metrics, by }: ChangesProps) {
  const usable = metrics.filter(({ isLevel }) => !isLevel)
  const questions = usable.map(metric => ({ metric, ...filtersFor([metric]) }))
  const moved = useEach(
    questions.map(({ metric: { name }, filters }) => ({
      ...{ metrics: [name], period: period.value, filters, compare: true },
    })),
  )
  const asked = questions.flatMap(({ metric, filters: own }) =>
    by
      .filter(split => metric.dimensions.some(({ name }) => name === split) && own[split]?.length !== 1)
      .map(split => ({ metrics: [metric.name], period: period.value, filters: own, split })),
  )
  const explained = useExplanations(asked)
  return (
    <section class="changes card stack" aria-label="What changed">
      <h2>What changed</h2>
      <Answered answer={moved} height={84}>
        {answers => {
          const cells = answers.map(totalOf)
          const moves = cells.flatMap((cell, at): Move[] => {
            const before = cell.comparedWith
            if (cell.value === null || before?.value == null) return []
            return [{ metric: usable[at]!, before: before.value, after: cell.value, nBefore: before.n, n: cell.n }]
          })
          const notable = moves.filter(isNotable).sort((a, b) => sizeOf(b) - sizeOf(a))
          if (notable.length === 0) return <p class="note">{whyNone(cells)}</p>
          return (
            <ul>
              {notable.slice(0, SENTENCES).map(move => (
                <li key={move.metric.name}>
                  <Sentence
                    move={move}
                    explanations={
                      (explained.data ?? []).filter(one => one?.metric === move.metric.name) as Explanation[]
                    }
                  />
                </li>
              ))}
            </ul>
          )
        }}
      </Answered>
    </section>
  )
}

/** Returns the part of a difference in words: points of a share, else the unit. `of`: the whole, unless the part is larger. */
function partText(difference: number, { unit }: Pick<ListedMetric, 'unit'>, of?: number): string {
  if (of !== undefined && Math.abs(difference) > Math.abs(of))
    return `${partText(difference, { unit })}, more than the whole since others moved the other way`
  if (unit === 'share')
    return `${Math.abs(difference * 100).toFixed(1)}${of === undefined ? ' points' : ` of the ${Math.abs(of * 100).toFixed(1)} points`}`
  return `${valueText(Math.abs(difference), unit)}${of === undefined ? '' : ` of the ${valueText(Math.abs(of), unit)}`}`
}

/** Returns the explanation whose values explain most, unless one value is all there is. */
function clearest(explanations: readonly Explanation[], difference: number): Explanation | null {
  const strength = ({ contributions }: Explanation) => {
    const [first] = contributions.filter(({ rate, mix }) => Math.sign(rate + mix) === Math.sign(difference))
    return first && contributions.length > 1 ? Math.abs(first.rate + first.mix) : 0
  }
  const [best] = [...explanations].sort((a, b) => strength(b) - strength(a))
  return best && strength(best) > 0 ? best : null
}

function Sentence({ move, explanations }: { move: Move; explanations: readonly Explanation[] }) {
  const { metric, before, after, n } = move
  const difference = after - before
  const tone = toneOf(difference, metric.better)
  const best = clearest(explanations, difference)
  const { filters } = filtersFor([metric])
  const question = { metrics: [metric.name], period: period.value, filters }
  return (
    <>
      <b class={tone}>
        {difference > 0 ? '▲' : '▼'}
        <span class="hidden">{{ good: 'Better: ', bad: 'Worse: ', '': '' }[tone]}</span>
      </b>{' '}
      {metric.title} {difference > 0 ? 'rose' : 'fell'} from {valueText(before, metric.unit, move.nBefore)} to{' '}
      {valueText(after, metric.unit, n)}.{' '}
      {best && <Contributions best={best} metric={metric} difference={difference} filters={filters} />}{' '}
      {metric.hasConversations && <a href={addressBehind(question)}>Show conversations</a>}
    </>
  )
}

interface ContributionsProps {
  best: Explanation
  metric: ListedMetric
  difference: number
  filters: ReturnType<typeof filtersFor>['filters']
}

const NAMED = 2

function Contributions({ best, metric, difference, filters }: ContributionsProps) {
  const { split } = best
  const pushing = best.contributions
    .filter(({ rate, mix, key }) => Math.sign(rate + mix) === Math.sign(difference) && !key.isOther)
    .slice(0, NAMED)
  return (
    <>
      {pushing.map(({ key, rate, mix, after }, at) => {
        const name = labelOf(split, key)
        const total = rate + mix
        const question = {
          metrics: [metric.name],
          period: period.value,
          filters: { ...filters, [split]: [filterValue(key)] },
        }
        const isShift = Math.abs(mix) > Math.abs(rate)
        return (
          <span key={valueKey(key)}>
            {at > 0 && ', '}
            {metric.hasConversations && after.denominator > 0 ? <a href={addressBehind(question)}>{name}</a> : name}{' '}
            {at === 0 ? `accounts for ${partText(total, metric, difference)}` : `for ${partText(total, metric)}`}
            {metric.unit === 'share' &&
              isShift &&
              (mix > 0 === difference > 0 ? ' (its part of all conversations changed)' : '')}
          </span>
        )
      })}
      {pushing.length > 0 && '.'}
    </>
  )
}
