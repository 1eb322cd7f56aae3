// Units of time. The vendor mixes seconds, milliseconds and strings; here everything is milliseconds since the epoch.

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/**
 * The earliest time that a request may carry, ms: 2001-09-09T01:46:40Z, the first with thirteen digits. The vendor
 * accepts seconds and milliseconds in the same parameter without documenting the limit between them (section 4.12).
 * Whether the limit is a number of digits or 1e10, 1e11 or 1e12, this time counts as milliseconds.
 */
export const EARLIEST_MS = 1e12

/** Maximum expected difference between two synchronised clocks; times further in the future are treated as wrong. */
export const MAX_CLOCK_SKEW_MS = 5 * MINUTE

/** The result of reading a numeric time. `zero`: the vendor writes 0 for "never". */
type TimeReading = { ms: number } | { ms: null; reason: 'zero' | 'out-of-range' }

/**
 * Reads a numeric time by its magnitude (notes on the API, "Unit of a timestamp"):
 * below 1e11 seconds, below 1e14 milliseconds, below 1e17 microseconds; anything else is not a time.
 */
export function readTime(raw: number): TimeReading {
  if (raw === 0) return { ms: null, reason: 'zero' }
  if (!(raw > 0) || raw >= 1e17) return { ms: null, reason: 'out-of-range' }
  if (raw < 1e11) return { ms: raw * 1_000 }
  return { ms: raw < 1e14 ? raw : raw / 1_000 }
}

const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/
const DURATION_UNITS: Record<string, number> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY }

/** The longest duration, a hundred years in ms, so that sums and dates stay within the range of numbers and of `Date`. */
const LONGEST = 36_525 * DAY

/** Parses `15m`, `2h`, `1.5d` to milliseconds, at most a hundred years; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text.trim())
  return match ? Math.min(LONGEST, Math.round(Number(match[1]) * DURATION_UNITS[match[2]!]!)) : undefined
}

/** Returns `15m`, `36h`, `90s`, as in the configuration: in the largest unit that gives a whole number. */
export function durationText(ms: number): string {
  const units = Object.entries(DURATION_UNITS).filter(([unit]) => unit !== 'w')
  const [unit, length] = units.findLast(([, length]) => ms >= length && ms % length === 0) ?? ['ms', 1]
  return `${ms / length}${unit}`
}

/** Returns `3 d 4 h`, `2 h 5 min`, `12 s`: the two largest units, for people. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / SECOND))
  const units = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  const first = units.findIndex(([count]) => count > 0)
  if (first < 0) return '0 s'
  return units
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

/** The largest time that a `Date` can hold, ms. */
const LAST_MOMENT_MS = 8.64e15

/** Returns the time as ISO-8601 in UTC. Does not throw for times that a `Date` cannot hold. */
export const momentText = (ms: number): string =>
  Math.abs(ms) <= LAST_MOMENT_MS ? new Date(ms).toISOString() : 'an unknown time'

/** Returns `20261120T204946123Z`, which sorts as text and is safe in file names. */
export function compactTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, '')
}

/** Returns the time at the beginning of a name, as `compactTimestamp` writes it, ms. */
export const compactTime = (name: string): number =>
  Date.parse(name.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z.*/, '$1-$2-$3T$4:$5:$6.$7Z'))

const CLOCK = String.raw`[Tt ]([01]\d|2[0-3]):[0-5]\d`
const SECONDS = String.raw`:[0-5]\d(\.\d{1,9})?`

/**
 * Regular expressions, equal in JavaScript and DuckDB, for texts that are a time. `utc`: an ISO-8601 date or time in UTC or
 * without an offset; `offset`: one with an offset, or without seconds in UTC; `epoch`: 10 to 16 digits. No names of time zones.
 */
export const MOMENT_TEXTS = {
  utc: String.raw`\d{4}-\d{2}-\d{2}(${CLOCK}(${SECONDS}[Zz]?)?)?`,
  offset: String.raw`\d{4}-\d{2}-\d{2}${CLOCK}(${SECONDS})?([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)`,
  epoch: String.raw`[1-9]\d{9,15}(\.\d+)?`,
} as const

const MOMENT = new RegExp(`^(${MOMENT_TEXTS.utc}|${MOMENT_TEXTS.offset}|(?<epoch>${MOMENT_TEXTS.epoch}))$`)

/** Returns the time in a text, ms, as the warehouse's `parse_moment` reads it; null if there is none. */
export function momentIn(text: string): number | null {
  const match = MOMENT.exec(text)
  if (match === null) return null
  if (match.groups!.epoch !== undefined) return readTime(Number(text)).ms
  const day = text.slice(0, 10)
  if (!isDay(day)) return null
  const [clock = '', zone = ''] = text.slice(11).split(/(?=[Zz+-])/)
  const [hour = 0, minute = 0, second = 0] = clock === '' ? [] : clock.split(':').map(Number)
  const digits = zone.replace(/\D/g, '').padEnd(4, '0')
  const ahead = (zone.startsWith('-') ? -1 : 1) * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2)))
  return Date.parse(day) + (hour * 60 + minute - ahead) * MINUTE + second * SECOND
}

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}.*))?$/

/** False for the 30th of February, which `Date.parse` reads as the 2nd of March. */
export function isDay(day: string): boolean {
  const ms = Date.parse(day)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

/**
 * Parses a time that a person typed, to ms: an ISO-8601 date or time, an epoch of 10 to 16 digits (fewer may be a year, or a
 * date without dashes), or an age such as `90d`. Times before the epoch become the epoch. Undefined for anything else.
 */
export function parseMoment(text: string, nowMs: number): number | undefined {
  const ms = readMoment(text.trim(), nowMs)
  return ms === undefined ? undefined : Math.max(0, ms)
}

function readMoment(text: string, nowMs: number): number | undefined {
  const age = parseDuration(text)
  if (age !== undefined) return nowMs - age
  if (/^\d{10,16}$/.test(text)) return readTime(Number(text)).ms ?? undefined
  const [, day, time] = ISO.exec(text) ?? []
  if (day === undefined || !isDay(day)) return undefined
  // A time without an offset is UTC, regardless of the machine's time zone.
  const ms = Date.parse(time === undefined ? day : `${day}T${/(Z|[+-]\d{2}:?\d{2})$/.test(time) ? time : `${time}Z`}`)
  return Number.isNaN(ms) ? undefined : ms
}
