// Dates as the reader's language writes them. Days come from SQL in the workspace's time zone, and are never converted.
import type { Grain } from '../../../metrics/periods.ts'

const format = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', ...options })

const DAY = format({ day: 'numeric', month: 'short' })
const DAY_OF_YEAR = format({ day: 'numeric', month: 'short', year: 'numeric' })
const MONTH = format({ month: 'short', year: 'numeric' })
const WEEKDAY = format({ weekday: 'short' })
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

const dateOf = (day: string): Date => new Date(`${day.slice(0, 10)}T00:00:00Z`)

export const dayText = (day: string): string => DAY_OF_YEAR.format(dateOf(day))

export const dayRange = ({ from, to }: { from: string; to: string }): string =>
  from === to ? dayText(from) : DAY_OF_YEAR.formatRange(dateOf(from), dateOf(to))

/** Monday is 1. */
export const weekdayText = (isoDay: number): string => WEEKDAY.format(new Date(Date.UTC(2024, 0, isoDay)))

export const hourText = (hour: string): string => `${hour.padStart(2, '0')}:00`

/** Returns the label of a bucket on an axis; weeks are named by their first day. */
export function bucketText(key: string, grain: Grain): string {
  switch (grain) {
    case 'none':
      return ''
    case 'month':
      return MONTH.format(dateOf(key))
    case 'weekday':
      return weekdayText(Number(key))
    case 'local_hour':
      return hourText(key)
    case 'hour':
      return `${DAY.format(dateOf(key))} ${hourText(key.slice(11))}`
    case 'weekday_hour':
      return `${weekdayText(Number(key[0]))} ${hourText(key.slice(2))}`
    default:
      return DAY.format(dateOf(key))
  }
}

/** A point in time, in the reader's own time zone. */
export const timeText = (iso: string): string => TIME.format(new Date(iso))

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })

/** The hour and minute, and the day, in the reader's own time zone. */
export const clockText = (ms: number): string => CLOCK.format(ms)
export const dateText = (ms: number): string => DATE.format(ms)

export const ownZone = `times of your time zone (${CLOCK.resolvedOptions().timeZone})`

/** `14 min`, `3 h`, `2 days`. */
export function ageText(seconds: number): string {
  if (seconds < 90) return 'a minute'
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

/** `14 min ago`; a time that has not come yet is said as such, since one of two clocks is wrong. */
export function agoText(iso: string | null, nowMs: number, none = 'never'): string {
  if (iso === null) return none
  const seconds = (nowMs - Date.parse(iso)) / 1_000
  if (seconds < -60) return `in ${ageText(-seconds)} by this machine’s clock`
  return seconds < 45 ? 'just now' : `${ageText(seconds)} ago`
}
