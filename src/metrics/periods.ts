// Periods of local days, and the buckets of a grain in them. Days are those of the workspaces' time zones, as texts.
import { DAY } from '../core/time.ts'

/** First and last day, both included: `2026-10-01`. */
export interface Period {
  from: string
  to: string
}

export const GRAINS = ['none', 'hour', 'day', 'week', 'month', 'weekday', 'local_hour', 'weekday_hour'] as const

export type Grain = (typeof GRAINS)[number]

/** A part of the period; of `weekday`, `local_hour` and `weekday_hour` every such part, so it has the whole period's days. */
export interface Bucket extends Period {
  /** First day; `2026-10-01 13` of an hour; `1` (Monday) to `7`; `0` to `23`; `1 00` to `7 23`; empty without a grain. */
  key: string
}

type Unit = 'day' | 'week' | 'month'

const toMs = (day: string): number => Date.parse(`${day}T00:00:00Z`)
const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

export const addDays = (day: string, days: number): string => toDay(toMs(day) + days * DAY)

export const daysIn = ({ from, to }: Period): number => Math.round((toMs(to) - toMs(from)) / DAY) + 1

/** Returns the first day of the day's week (Monday) or month. */
function beginOf(day: string, unit: Unit): string {
  if (unit === 'month') return `${day.slice(0, 8)}01`
  return unit === 'day' ? day : addDays(day, -((new Date(toMs(day)).getUTCDay() + 6) % 7))
}

/** Moves the first day of a unit by a number of units. */
function moved(begin: string, unit: Unit, by: number): string {
  if (unit !== 'month') return addDays(begin, by * (unit === 'week' ? 7 : 1))
  const date = new Date(toMs(begin))
  return toDay(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + by, 1))
}

const RELATIVE = /^last-([1-9]\d{0,3})-(days|weeks|months)$/
const CURRENT: Record<string, Unit> = { today: 'day', 'this-week': 'week', 'this-month': 'month' }

/** True for a name of a relative period: `last-13-weeks`, `this-month`, `today`. */
export const isRelative = (name: string): boolean => RELATIVE.test(name) || Object.hasOwn(CURRENT, name)

/**
 * Returns the days of a relative period. `last-…` has whole units that have ended before `today`; `this-…` and `today` end with the
 * current unit.
 */
export function relativePeriod(name: string, today: string): Period {
  const current = CURRENT[name]
  if (current) {
    const from = beginOf(today, current)
    return { from, to: addDays(moved(from, current, 1), -1) }
  }
  const [, count, plural] = RELATIVE.exec(name)!
  const unit = plural!.slice(0, -1) as Unit
  const end = beginOf(today, unit)
  return { from: moved(end, unit, -Number(count)), to: addDays(end, -1) }
}

/** True if the period consists of whole months. */
export const isOfMonths = ({ from, to }: Period): boolean => from.endsWith('-01') && addDays(to, 1).endsWith('-01')

/** True if sums over both can be compared: they have as many days, or both consist of whole months. */
export const areAlike = (a: Period, b: Period): boolean => daysIn(a) === daysIn(b) || (isOfMonths(a) && isOfMonths(b))

/** Returns the period of the same length before: the same number of months if it consists of whole ones, else of days. */
export function periodBefore(period: Period): Period {
  const to = addDays(period.from, -1)
  if (!isOfMonths(period)) return { from: addDays(period.from, -daysIn(period)), to }
  const months = bucketsOf(period, 'month').length
  return { from: moved(period.from, 'month', -months), to }
}

const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour))
const WEEKDAYS = ['1', '2', '3', '4', '5', '6', '7']

const withHours = (key: string): string[] => HOURS.map(hour => `${key} ${hour.padStart(2, '0')}`)
const HOUR_SQL = `lpad(local_hour::VARCHAR, 2, '0')`

/** The grains with the same buckets in any period, each with all of its days: their keys, and the SQL for that of a row. */
const CYCLES: Partial<Record<Grain, { keys: string[]; sql: string }>> = {
  none: { keys: [''], sql: `''` },
  weekday: { keys: WEEKDAYS, sql: 'isodow(day)::VARCHAR' },
  local_hour: { keys: HOURS, sql: 'local_hour::VARCHAR' },
  weekday_hour: { keys: WEEKDAYS.flatMap(withHours), sql: `isodow(day)::VARCHAR || ' ' || ${HOUR_SQL}` },
}

/** Returns the buckets of a period in order. The first and the last week or month may lie in it in part. */
export function bucketsOf(period: Period, grain: Grain): Bucket[] {
  const cycle = CYCLES[grain]
  if (cycle) return cycle.keys.map(key => ({ key, ...period }))
  if (grain === 'hour')
    return bucketsOf(period, 'day').flatMap(({ key, ...day }) => withHours(key).map(hour => ({ key: hour, ...day })))
  const unit = grain as Unit
  const buckets: Bucket[] = []
  for (let begin = beginOf(period.from, unit); begin <= period.to; begin = moved(begin, unit, 1)) {
    const end = addDays(moved(begin, unit, 1), -1)
    const from = begin < period.from ? period.from : begin
    buckets.push({ key: begin, from, to: end > period.to ? period.to : end })
  }
  return buckets
}

/** Returns an upper bound of the number of buckets, without computing them. */
export function mostBuckets(period: Period, grain: Grain): number {
  const days = daysIn(period)
  const counts: Partial<Record<Grain, number>> = {
    hour: 24 * days,
    day: days,
    week: days / 7 + 2,
    month: days / 28 + 2,
  }
  return CYCLES[grain]?.keys.length ?? Math.ceil(counts[grain]!)
}

/** Returns SQL for the bucket of a row, from the columns `day` and `local_hour`; as text it is the bucket's key. */
export function bucketSql(grain: Grain): string {
  if (grain === 'hour') return `day::VARCHAR || ' ' || ${HOUR_SQL}`
  return CYCLES[grain]?.sql ?? `date_trunc('${grain}', day)::DATE`
}

/** True if the grain needs the column `local_hour`. */
export const isOfHours = (grain: Grain): boolean => ['hour', 'local_hour', 'weekday_hour'].includes(grain)
