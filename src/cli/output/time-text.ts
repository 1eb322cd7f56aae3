// Times as text: ISO-8601 in UTC, with milliseconds, and finer digits only where there are any.

import type { TimestampUnit } from '../../warehouse/results.ts'

const TICKS_A_MS: Record<TimestampUnit, bigint> = { s: 1n, ms: 1n, us: 1_000n, ns: 1_000_000n }
const DIGITS: Record<TimestampUnit, number> = { s: 0, ms: 0, us: 3, ns: 6 }

/** DuckDB's infinities: the ends of its 64 bits. */
const INFINITY = 2n ** 63n - 1n

/** The last day of JavaScript's calendar, in ms either side of 1970; DuckDB's reaches some 20,000 years further. */
const LAST_MS = 8_640_000_000_000_000n

const DAY_MS = 86_400_000

/** The last day that a DATE can be, one before its infinity. */
const INFINITE_DAY = 2 ** 31 - 1

/** `2026-11-20T20:49:46.123Z` for a count of the unit since the epoch. */
export function timestampText(ticks: bigint, unit: TimestampUnit): string {
  if (ticks === INFINITY) return 'infinity'
  if (ticks === -INFINITY) return '-infinity'
  const scale = TICKS_A_MS[unit]
  const rest = ((ticks % scale) + scale) % scale
  const ms = unit === 's' ? ticks * 1_000n : (ticks - rest) / scale
  // Beyond every calendar of ours: the bare number, rather than a wrong date.
  if (ms > LAST_MS || ms < -LAST_MS) return `${ticks}${unit}`
  const text = new Date(Number(ms)).toISOString()
  return rest === 0n ? text : `${text.slice(0, -1)}${String(rest).padStart(DIGITS[unit], '0')}Z`
}

/** `2026-11-20` for a count of days since the epoch. */
export function dateText(days: number): string {
  if (days === INFINITE_DAY) return 'infinity'
  if (days === -INFINITE_DAY) return '-infinity'
  const ms = days * DAY_MS
  return Math.abs(ms) > Number(LAST_MS) ? `${days}d` : new Date(ms).toISOString().replace(/T.*/, '')
}
