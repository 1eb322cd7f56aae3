// The state of a target as text.
import { formatDuration, SECOND } from '../../core/time.ts'
import { ago, counted } from '../../core/words.ts'
import type { TargetStatus } from '../../reports/publications.ts'
import { visible } from '../terminal/columns.ts'
import { plain, type Style } from '../terminal/style.ts'

type Lack = Pick<TargetStatus, 'behind' | 'lagSeconds' | 'isGone'>

/** Says what the target lacks, and for how long. */
export function lackText({ behind, lagSeconds, isGone }: Lack): string {
  if (isGone) return 'its files are no longer there: the next publication writes it from empty'
  if (behind === 0) return 'has every change'
  const waits = lagSeconds === null ? '' : `, for ${formatDuration(lagSeconds * SECOND)}`
  return behind === null ? `must be written from empty${waits}` : `${counted(behind, 'change')} behind${waits}`
}

/** Ids of the row filter that bring the target no rows; null: there are none. */
export const filterText = ({ selectingNone }: Pick<TargetStatus, 'selectingNone'>): string | null =>
  selectingNone.length === 0
    ? null
    : `no agent is selected by ${selectingNone.map(id => visible(JSON.stringify(id))).join(', ')}`

const freshness = (status: TargetStatus, nowMs: number): string =>
  status.asOf === null ? 'never' : `${ago(Date.parse(status.asOf), nowMs)}; ${lackText(status)}`

export const targetLines = (status: TargetStatus, nowMs: number, style: Style = plain): string[] => {
  const { target, type, place, failure } = status
  const filter = filterText(status)
  return [
    style('bold', `Target ${target}`),
    `  ${type.padEnd(12)} ${place}`,
    `  published    ${freshness(status, nowMs)}`,
    ...(filter === null ? [] : [`  rows         ${filter}`]),
    ...(failure === null
      ? []
      : [
          `  last failure ${ago(Date.parse(failure.at), nowMs)}; ${counted(failure.attempts, 'failed attempt')} since the last success`,
          `               ${failure.code}: ${failure.what}`,
          ...(failure.hint === null ? [] : [`               → ${failure.hint}`]),
        ]),
  ]
}
