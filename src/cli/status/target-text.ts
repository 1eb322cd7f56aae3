// The state of a target as text.
import { formatDuration, SECOND } from '../../core/time.ts'
import { ago, counted } from '../../core/words.ts'
import type { TargetStatus } from '../../reports/publications.ts'
import { visible } from '../terminal/columns.ts'
import { plain, type Style } from '../terminal/style.ts'

type Lack = Pick<TargetStatus, 'type' | 'behind' | 'lagSeconds' | 'isGone' | 'held' | 'empty' | 'released'>

/** What the target lacks, and for how long. */
export function lackText({ type, behind, lagSeconds, isGone, ...lack }: Lack): string {
  if (isGone && type === 'ducklake') return 'its catalog or its data are no longer there'
  if (isGone) return 'is no longer there: the next publication writes it from empty'
  const held = heldText(lack)
  if (behind === 0) return held === null ? 'has every change' : `has every other change; ${held}`
  const waits = lagSeconds === null ? '' : `, for ${formatDuration(lagSeconds * SECOND)}`
  const text = behind === null ? `must be written from empty${waits}` : `${counted(behind, 'change')} behind${waits}`
  return held === null ? text : `${text}; ${held}`
}

/** What is said of tables that the target lacks until their checks pass, and the next publication after that; null: there are none. */
function heldText({ held, empty, released }: Pick<TargetStatus, 'held' | 'empty' | 'released'>): string | null {
  const parts = [
    [held.filter(table => !released.includes(table) && !empty.includes(table)), 'held back by a failed check'],
    [empty.filter(table => !released.includes(table)), 'empty there until the check that fails passes'],
    [released, 'published next, since the check passes again'],
  ] as const
  const texts = parts.flatMap(([tables, text]) => (tables.length === 0 ? [] : [`${tables.join(', ')}: ${text}`]))
  return texts.length === 0 ? null : texts.join('; ')
}

/** Ids of the row filter that bring the target no rows; null: there are none. */
export const filterText = ({ selectingNone }: Pick<TargetStatus, 'selectingNone'>): string | null =>
  selectingNone.length === 0
    ? null
    : `no agent is selected by ${selectingNone.map(id => visible(JSON.stringify(id))).join(', ')}`

const freshness = (status: TargetStatus, nowMs: number): string =>
  status.asOf === null ? 'never' : `${ago(Date.parse(status.asOf), nowMs)}; ${lackText(status)}`

export const targetLines = (status: TargetStatus, nowMs: number, style: Style = plain): string[] => {
  const { target, type, place, data, failure } = status
  const filter = filterText(status)
  return [
    style('bold', `Target ${target}`),
    `  ${type.padEnd(12)} ${place}`,
    ...(data === null ? [] : [`  data         ${data}`]),
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
