// The state of a target as text.
import { formatDuration, SECOND } from '../../core/time.ts'
import { ago, counted } from '../../core/words.ts'
import type { TargetStatus } from '../../reports/publications.ts'
import { plain, type Style } from '../terminal/style.ts'

/** What the target lacks, and for how long. */
export function lackText({
  behind,
  lagSeconds,
  isGone,
}: Pick<TargetStatus, 'behind' | 'lagSeconds' | 'isGone'>): string {
  if (isGone) return 'is no longer there: the next publication writes it from empty'
  if (behind === 0) return 'has every change'
  const waits = lagSeconds === null ? '' : `, for ${formatDuration(lagSeconds * SECOND)}`
  return behind === null ? `must be written from empty${waits}` : `${counted(behind, 'change')} behind${waits}`
}

const freshness = (status: TargetStatus, nowMs: number): string =>
  status.asOf === null ? 'never' : `${ago(Date.parse(status.asOf), nowMs)}; ${lackText(status)}`

export const targetLines = (status: TargetStatus, nowMs: number, style: Style = plain): string[] => {
  const { target, type, place, failure } = status
  return [
    style('bold', `Target ${target}`),
    `  ${type.padEnd(12)} ${place}`,
    `  published    ${freshness(status, nowMs)}`,
    ...(failure === null
      ? []
      : [
          `  last failure ${ago(Date.parse(failure.at), nowMs)}; ${counted(failure.attempts, 'failed attempt')} since the last success`,
          `               ${failure.code}: ${failure.what}`,
          ...(failure.hint === null ? [] : [`               → ${failure.hint}`]),
        ]),
  ]
}
