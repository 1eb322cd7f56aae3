// Values without a readable time or count where one is expected, such as 0 (the vendor's "never"), `next Monday`, the 30th of February,
// or half a message in an element of unknown shape. They are NULL as a time or a count, and are data issues; texts are kept as sent.

import { isMoment } from '../../core/time.ts'
import { ExactNumber } from '../../json/exact-json.ts'
import type { Lift, Scalar } from '../shape.ts'
import { ANY_KEY, ELEMENT } from './unknown-fields.ts'

/** Names of unreadable times in `_issues`. */
const ZERO_TIME = 'time is zero'
const UNREAD_TIME = 'no time that can be read'

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
  field.type === 'time' || field.type === 'moment' || liftsOf(field).length > 0

/** Returns a scalar as DuckDB's `->>` writes it; null for any other value and for an empty text. */
function textOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  if (value === null || value === undefined || typeof value === 'object' || value === '') return null
  return String(value)
}

const seenAs = (value: unknown): string => (value instanceof ExactNumber ? 'number' : typeof value)

const timeIssue = (value: unknown): string | null => (isMoment(textOf(value)!) ? null : UNREAD_TIME)

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

/** Returns the unreadable times and counts in a value of this field. `path`: the field's path. */
export function unreadValues(field: Scalar, value: unknown, path: string): UnreadValue[] {
  if (field.type === 'time')
    return numberIn(value) === 0 ? [{ path, issue: ZERO_TIME, declared: 'time', seen: seenAs(value) }] : []
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
      const issue = type === 'time' ? timeIssue(found) : countIssue(found)
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
