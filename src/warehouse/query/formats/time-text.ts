// Times as text: ISO-8601 with milliseconds, and microseconds where the value has them.
import { ConvohouseError } from '../../../core/errors.ts'
import type { Shape } from '../results.ts'

/** DuckDB's infinities: the largest values of 64 bits, and of 32 bits for a date. */
const INFINITY = 2n ** 63n - 1n
const INFINITE_DAY = 2 ** 31 - 1

const DAY_MS = 86_400_000

/**
 * `2026-11-20T20:49:46.123Z` for a count of microseconds since the epoch; without `Z` where the shape has no zone. Years before 0 (1 BC) and
 * after 9999 have a sign and six digits. @throws SQL_INVALID outside of JavaScript's calendar
 */
export function timestampText(micros: bigint, { zone }: Extract<Shape, { kind: 'timestamp' }>): string {
  if (micros === INFINITY) return 'infinity'
  if (micros === -INFINITY) return '-infinity'
  const rest = ((micros % 1_000n) + 1_000n) % 1_000n
  const text = calendarText(Number((micros - rest) / 1_000n)).slice(0, -1)
  return `${text}${rest === 0n ? '' : String(rest).padStart(3, '0')}${zone ? 'Z' : ''}`
}

/** `2026-11-20` for a count of days since the epoch. @throws SQL_INVALID outside of JavaScript's calendar */
export function dateText(days: number): string {
  if (days === INFINITE_DAY) return 'infinity'
  if (days === -INFINITE_DAY) return '-infinity'
  return calendarText(days * DAY_MS).replace(/T.*/, '')
}

function calendarText(ms: number): string {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime()))
    throw new ConvohouseError('SQL_INVALID', {
      what: 'The result has a time outside of the years -271821 to 275760.',
      hint: 'Cast it: column::VARCHAR.',
    })
  return date.toISOString()
}
