// How far the quota lasts at the present pace.
import { addDays, daysIn } from '../../../metrics/periods.ts'
import type { WorkspaceQuota } from '../../http/quota-route.ts'

interface Projection {
  /** The days that the pace is of: after the reports of the first, until those of the last. */
  from: string
  to: string
  perDay: number
  /** Sessions used at the end of the period. */
  atEnd: number
  /** The day on which the included sessions are used up; null if they last. */
  usedUpOn: string | null
}

const PACE_DAYS = 7

export const daysBetween = (from: string, to: string): number => daysIn({ from, to }) - 1

/** Returns the projection from the last seven days' reports, without history that was read in them; null before a second day with a report. */
export function projectionOf({ days, ends, includedSessions }: WorkspaceQuota): Projection | null {
  const last = days.at(-1)
  if (!last || days.length < 2) return null
  const recent = days.slice(0, -1).find(({ day }) => daysBetween(day, last.day) <= PACE_DAYS)
  const first = recent ?? days.at(-2)!
  const history = days
    .filter(({ day }) => day > first.day)
    .reduce((sum, { historySessions }) => sum + historySessions, 0)
  const perDay = Math.max(0, last.usedSessions - first.usedSessions - history) / daysBetween(first.day, last.day)
  const atEnd = Math.round(last.usedSessions + perDay * daysBetween(last.day, ends))
  const left = Math.max(0, includedSessions - last.usedSessions)
  const usedUpOn = atEnd > includedSessions ? addDays(last.day, Math.ceil(left / (perDay || 1))) : null
  return { from: first.day, to: last.day, perDay, atEnd, usedUpOn }
}
