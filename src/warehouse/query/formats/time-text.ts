// Times as text: ISO-8601 with milliseconds, and further digits where the value has them.

import type { Shape, TimestampUnit } from '../results.ts'

const TICKS_A_SECOND: Record<TimestampUnit, bigint> = { us: 1_000_000n, ns: 1_000_000_000n }

/** DuckDB's infinities: the largest values of 64 bits, and of 32 bits for a date. */
const INFINITY = 2n ** 63n - 1n
const INFINITE_DAY = 2 ** 31 - 1

const DAY_SECONDS = 86_400

/** 400 years: the period of the calendar. */
const ERA_SECONDS = 146_097 * DAY_SECONDS

/**
 * `2026-11-20T20:49:46.123Z` for a count of the unit since the epoch; without `Z` where the shape has no zone. Years before 0 (1 BC) and
 * after 9999 have a sign and at least six digits.
 */
export function timestampText(ticks: bigint, { unit, zone }: Extract<Shape, { kind: 'timestamp' }>): string {
  if (ticks === INFINITY) return 'infinity'
  if (ticks === -INFINITY) return '-infinity'
  const scale = TICKS_A_SECOND[unit]
  const rest = ((ticks % scale) + scale) % scale
  const digits = String(rest + scale).slice(1)
  const fraction = digits.slice(0, 3).padEnd(3, '0') + digits.slice(3).replace(/(000)+$/, '')
  return `${calendarText(Number((ticks - rest) / scale))}.${fraction}${zone ? 'Z' : ''}`
}

/** `2026-11-20` for a count of days since the epoch. */
export function dateText(days: number): string {
  if (days === INFINITE_DAY) return 'infinity'
  if (days === -INFINITE_DAY) return '-infinity'
  return calendarText(days * DAY_SECONDS).replace(/T.*/, '')
}

/** A date and time to the second. Computed in eras of 400 years, because JavaScript's calendar ends earlier than DuckDB's. */
function calendarText(seconds: number): string {
  const eras = Math.floor(seconds / ERA_SECONDS)
  const text = new Date((seconds - eras * ERA_SECONDS) * 1_000).toISOString().slice(0, 19)
  if (eras === 0) return text
  const year = Number(text.slice(0, 4)) + 400 * eras
  const inFull = year >= 0 && year <= 9_999 ? `${year}`.padStart(4, '0') : `${Math.abs(year)}`.padStart(6, '0')
  return `${year < 0 ? '-' : year > 9_999 ? '+' : ''}${inFull}${text.slice(4)}`
}
