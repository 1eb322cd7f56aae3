// The state of a target as text.
import { ago, counted } from '../../core/words.ts'
import type { TargetStatus } from '../../reports/publications.ts'
import { plain, type Style } from '../terminal/style.ts'

const freshness = ({ asOf, behind }: TargetStatus, nowMs: number): string => {
  if (asOf === null) return 'never'
  const lacks =
    behind === null ? 'must be filled again' : behind === 0 ? 'has every change' : `${counted(behind, 'change')} behind`
  return `${ago(Date.parse(asOf), nowMs)}; ${lacks}`
}

export const targetLines = (status: TargetStatus, nowMs: number, style: Style = plain): string[] => {
  const { target, type, place, failure } = status
  return [
    style('bold', `Target ${target}`),
    `  ${type.padEnd(12)} ${place}`,
    `  published    ${freshness(status, nowMs)}`,
    ...(failure === null
      ? []
      : [
          `  last failure ${ago(Date.parse(failure.at), nowMs)}`,
          `               ${failure.code}: ${failure.what}`,
          ...(failure.hint === null ? [] : [`               → ${failure.hint}`]),
        ]),
  ]
}
