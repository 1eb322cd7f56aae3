// Times of a cron expression of five fields in UTC, as Temporal reads it: a time must match all fields.
import { DAY, HOUR, MINUTE } from './time.ts'

const MONTHS = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

/** Returns the values that a field selects; none if it cannot be read. */
const valuesOf = (field: string, [first, last]: [number, number], names: readonly string[] = []): number[] =>
  field.split(',').flatMap(part => {
    const [, from = '', to, step = ''] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part) ?? []
    const numberOf = (text: string) => (names.includes(text) ? names.indexOf(text) : Number(text || Number.NaN))
    const low = from === '*' ? first : numberOf(from)
    const high = to ? numberOf(to) : from === '*' || step ? last : low
    const length = Math.floor((high - low) / Number(step || 1)) + 1
    return length > 0 ? Array.from({ length }, (_, at) => low + at * Number(step || 1)) : []
  })

/** Returns at least the last `count` times up to `nowMs`, newest first; fewer if there are none within 400 days, or it cannot be read. */
export function lastTimes(cron: string, nowMs: number, count: number): number[] {
  const [minute = '', hour = '', date = '', month = '', weekday = ''] = cron.trim().toLowerCase().split(/\s+/)
  const minutes = valuesOf(minute, [0, 59])
  const times = valuesOf(hour, [0, 23]).flatMap(at => minutes.map(past => at * HOUR + past * MINUTE))
  const dates = valuesOf(date, [1, 31])
  const months = valuesOf(month, [1, 12], MONTHS)
  const weekdays = valuesOf(weekday, [0, 7], DAYS).map(day => day % 7)
  const found: number[] = []
  for (let ago = 0; ago < 400 && found.length < count; ago++) {
    const day = new Date((Math.floor(nowMs / DAY) - ago) * DAY)
    if (!weekdays.includes(day.getUTCDay()) || !dates.includes(day.getUTCDate())) continue
    if (!months.includes(day.getUTCMonth() + 1)) continue
    const due = times.map(time => day.getTime() + time).filter(ms => ms <= nowMs)
    found.push(...due.sort((a, b) => b - a))
  }
  return found
}
