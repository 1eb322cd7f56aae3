// Values without a readable time or count where one is expected, such as 0 (the vendor's "never"), `next Monday`, the 30th of February,
// or half a message in an element of unknown shape. They are NULL as a time or a count, and are data issues; texts are kept as sent.
// Times far from the request and negative ratings are data issues too, and are kept: `dim_calendar` and marts leave them out.

import { DAY, momentIn, readTime } from '../../core/time.ts'
import { ExactNumber } from '../../json/exact-json.ts'
import type { Lift, Scalar } from '../shape.ts'
import { ANY_KEY, ELEMENT } from './unknown-fields.ts'

/** Names of unreadable times in `_issues`. */
const ZERO_TIME = 'zero instead of a time'
const UNREAD_TIME = 'no time that can be read'
const OUTLYING_TIME = 'more than ten years old, or in the future'

const TEN_YEARS = 3_653 * DAY
/** A time may be announced, and clocks may differ. */
const AHEAD = DAY

const NEGATIVE = 'negative rating'

export interface UnreadValue {
  path: string
  issue: string
  declared: string
  seen: string
}

const CHECKED: readonly Lift['type'][] = ['time', 'count']

const liftsOf = (field: Scalar): readonly Lift[] =>
  (field.unnest?.lift ?? []).filter(({ type }) => CHECKED.includes(type))

/** True for a field that may contain a time, itself or in its elements, or counts in its elements. */
export const mayHoldUnread = (field: Scalar): boolean =>
  field.type === 'time' || field.type === 'moment' || field.isRating === true || liftsOf(field).length > 0

/** Returns a scalar as DuckDB's `->>` writes it; null for any other value and for an empty text. */
function textOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  if (value === null || value === undefined || typeof value === 'object' || value === '') return null
  return String(value)
}

const seenAs = (value: unknown): string => (value instanceof ExactNumber ? 'number' : typeof value)

const isOutlying = (ms: number, atMs: number | undefined): boolean =>
  atMs !== undefined && (ms < atMs - TEN_YEARS || ms > atMs + AHEAD)

/** Returns the issue of a numeric time; null if it has none. */
function numericIssue(number: number, atMs: number | undefined): string | null {
  const { ms } = readTime(number)
  if (ms === null) return number === 0 ? ZERO_TIME : null
  return isOutlying(ms, atMs) ? OUTLYING_TIME : null
}

/** Returns the issue of a time given as text or number; null if it has none. */
function timeIssue(value: unknown, atMs?: number): string | null {
  const ms = momentIn(textOf(value)!)
  if (ms === null) return UNREAD_TIME
  return isOutlying(ms, atMs) ? OUTLYING_TIME : null
}

/** Returns the elements of an array or the entries of an object, and the path to them. */
function elementsOf(
  { unnest }: Scalar,
  value: unknown,
  path: string,
): { within: string; elements: readonly unknown[] } {
  if (unnest?.over === 'elements') return { within: path + ELEMENT, elements: Array.isArray(value) ? value : [] }
  const isEntries = typeof value === 'object' && value !== null && !Array.isArray(value)
  return { within: `${path}.${ANY_KEY}`, elements: isEntries ? Object.values(value) : [] }
}

/**
 * Returns the unreadable times and counts in a value of this field, outlying times and negative ratings. `path`: the
 * field's path; `atMs`: when the vendor sent the value, if times are compared with it.
 */
export function unreadValues(field: Scalar, value: unknown, path: string, atMs?: number): UnreadValue[] {
  if (field.type === 'time') {
    const issue = numericIssue(numberIn(value), atMs)
    return issue === null ? [] : [{ path, issue, declared: 'time', seen: issue === ZERO_TIME ? 'zero' : seenAs(value) }]
  }
  if (field.isRating)
    return numberIn(value) < 0 ? [{ path, issue: NEGATIVE, declared: field.type, seen: seenAs(value) }] : []
  if (field.type === 'moment') {
    const issue = textOf(value) === null ? null : timeIssue(value)
    return issue === null ? [] : [{ path, issue, declared: 'moment', seen: seenAs(value) }]
  }
  const lifts = liftsOf(field)
  const { within, elements } = elementsOf(field, value, path)
  const unread: UnreadValue[] = []
  for (const element of elements) {
    if (typeof element !== 'object' || element === null) continue
    for (const { keys, type } of lifts) {
      const key = keys.find(name => textOf((element as Record<string, unknown>)[name]) !== null)
      if (key === undefined) continue
      const found = (element as Record<string, unknown>)[key]
      const issue = type === 'time' ? timeIssue(found, atMs) : countIssue(found)
      if (issue !== null) unread.push({ path: `${within}.${key}`, issue, declared: type, seen: seenAs(found) })
    }
  }
  return unread
}

/** Matches JSON's syntax of a number, in which DuckDB reads numbers from texts too; `007` does not match. */
const NUMERIC = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const INTEGER = /^-?\d+$/

/** Returns the digits of a number, or of a text in a number's syntax. */
const numeralOf = (value: unknown): string | undefined => {
  if (value instanceof ExactNumber) return value.text
  return typeof value === 'string' && NUMERIC.test(value) ? value : undefined
}

/** True if a DOUBLE holds the number exactly; an integer beyond 2^53 may lose digits. */
export function isExact(value: unknown): boolean {
  const numeral = numeralOf(value)
  const number = numeral === undefined ? value : Number(numeral)
  if (typeof number !== 'number' || !Number.isFinite(number)) return false
  if (Number.isSafeInteger(number) || !Number.isInteger(number)) return true
  // A parsed number beyond 2^53 has lost its digits; the page then takes the tolerant path, which reads them from the text.
  return numeral !== undefined && (!INTEGER.test(numeral) || BigInt(numeral) === BigInt(number))
}

export const numberIn = (value: unknown): number => Number(numeralOf(value) ?? value)

/** The range of BIGINT. */
const COUNT_LIMIT = 2 ** 63

/** True for a number without a fraction in the range of BIGINT. */
export const isCount = (number: number): boolean => Number.isInteger(number) && Math.abs(number) < COUNT_LIMIT

/** Names in `_issues` of numbers that are no counts. */
export const FRACTION = 'fraction'
export const TOO_LARGE = 'more than a number holds'

/** Returns the issue of a number, or of a text in a number's syntax, that is no count; null for any other value. */
export function countIssue(value: unknown): string | null {
  if (numeralOf(value) === undefined && typeof value !== 'number') return null
  const number = numberIn(value)
  if (isCount(number)) return null
  return Number.isFinite(number) && !Number.isInteger(number) ? FRACTION : TOO_LARGE
}
