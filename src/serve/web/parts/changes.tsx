// What changed against the period before, in sentences made from explanations. Causes are not claimed: only whose figures moved.
import type { Cell } from '../../../metrics/answer-format.ts'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import { type Explanation, type ListedMetric, totalOf, useEach, useExplanations } from '../api/metrics.ts'
import { isClear } from '../format/intervals.ts'
import { toneOf, valueText } from '../format/values.ts'
import { filterValue, labelOf, valueKey } from '../state/colours.ts'
import { addressBehind, type Filters, filtersFor } from '../state/filters.ts'
import { period } from '../state/period.ts'
import { Answered } from './states.tsx'

interface ChangesProps {
  metrics: readonly ListedMetric[]
  by: readonly DimensionName[]
}

interface Side {
  value: number
  n: number
}

interface Move {
  metric: ListedMetric
  filters: Filters
  before: Side
  after: Side
}

const SENTENCES = 3
/** Counts and amounts that move less than this are called steady. */
const STEADY = 0.05

const sizeOf = ({ before, after }: Move): number => Math.abs(after.value - before.value) / (Math.abs(before.value) || 1)

/** Counts are as sure as chance allows (two standard deviations of a Poisson count); other values have no simple interval. */
function isNotable(move: Move): boolean {
  const { unit } = move.metric
  const { before, after } = move
  if (unit === 'share') return isClear(before, after)
  const isChance = Math.abs(after.value - before.value) < 2 * Math.sqrt(after.value + before.value)
  return sizeOf(move) > STEADY && !(unit === 'count' && isChance)
}

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
  const questions = usable.map(metric => ({
    metric,
    ...{ metrics: [metric.name], period: period.value, filters: filtersFor([metric]).filters },
  }))
  const moved = useEach(questions.map(({ metric: _, ...question }) => ({ ...question, compare: true })))
  const explained = useExplanations(
    questions.flatMap(({ metric, ...question }) =>
      by
        .filter(split => metric.dimensions.some(({ name }) => name === split) && question.filters[split]?.length !== 1)
        .map(split => ({ ...question, split })),
    ),
  )
  return (
    <section class="changes card stack" aria-label="What changed">
      <h2>What changed</h2>
      <Answered answer={moved} height={84}>
        {answers => {
          const cells = answers.flatMap(answer => ('series' in answer ? [totalOf(answer)] : []))
          const moves = answers.flatMap((answer, at): Move[] => {
            if (!('series' in answer)) return []
            const { value, n, comparedWith: before } = totalOf(answer)
            if (value === null || before?.value == null) return []
            return [{ ...questions[at]!, before: { value: before.value, n: before.n }, after: { value, n } }]
          })
          const notable = moves.filter(isNotable).sort((a, b) => sizeOf(b) - sizeOf(a))
          return (
            <>
              {notable.length === 0 ? (
                <p class="note">{whyNone(cells)}</p>
              ) : (
                <ul>
                  {notable.slice(0, SENTENCES).map(move => (
                    <li key={move.metric.name}>
                      <Sentence
                        move={move}
                        explanations={(explained.data ?? []).filter(({ metric }) => metric === move.metric.name)}
                      />
                    </li>
                  ))}
                </ul>
              )}
              {answers.map(
                (answer, at) =>
                  'what' in answer && (
                    <p class="note doubt" key={usable[at]!.name}>
                      {usable[at]!.title} could not be compared: {answer.what}{' '}
                      <button type="button" class="plain" onClick={moved.again}>
                        Try again
                      </button>
                    </p>
                  ),
              )}
            </>
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
  const { metric, filters, before, after } = move
  const difference = after.value - before.value
  const tone = toneOf(difference, metric.better)
  const best = clearest(explanations, difference)
  return (
    <>
      <b class={tone}>
        {difference > 0 ? '▲' : '▼'}
        <span class="hidden">{{ good: 'Better: ', bad: 'Worse: ', '': '' }[tone]}</span>
      </b>{' '}
      {metric.title} {difference > 0 ? 'rose' : 'fell'} from {valueText(before.value, metric.unit, before.n)} to{' '}
      {valueText(after.value, metric.unit, after.n)}. {best && <Contributions {...{ best, move, difference }} />}{' '}
      {metric.hasConversations && (
        <a href={addressBehind({ metrics: [metric.name], period: period.value, filters })}>Show conversations</a>
      )}
    </>
  )
}

const NAMED = 2

function Contributions({ best, move, difference }: { best: Explanation; move: Move; difference: number }) {
  const { split, contributions } = best
  const { metric, filters } = move
  const pushing = contributions
    .filter(({ rate, mix, key }) => Math.sign(rate + mix) === Math.sign(difference) && !key.isOther)
    .slice(0, NAMED)
  return (
    <>
      {pushing.map(({ key, rate, mix, after }, at) => {
        const name = labelOf(split, key)
        const ofKey = { ...filters, [split]: [filterValue(key)] }
        const isShift = metric.unit === 'share' && Math.abs(mix) > Math.abs(rate) && mix > 0 === difference > 0
        return (
          <span key={valueKey(key)}>
            {at > 0 && ', '}
            {metric.hasConversations && after.denominator > 0 ? (
              <a href={addressBehind({ metrics: [metric.name], period: period.value, filters: ofKey })}>{name}</a>
            ) : (
              name
            )}{' '}
            {at === 0
              ? `accounts for ${partText(rate + mix, metric, difference)}`
              : `for ${partText(rate + mix, metric)}`}
            {isShift && ' (its part of all conversations changed)'}
          </span>
        )
      })}
      {pushing.length > 0 && '.'}
    </>
  )
}
