// Numbers as sent: a number, or a text in the syntax of one.
import { ExactNumber } from '../../json/exact-json.ts'

/** JSON's syntax of a number, in which DuckDB reads numbers from texts too; `007` does not match. */
const NUMERIC = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const INTEGER = /^-?\d+$/

/** The digits of a number, or of a text in a number's syntax. */
const numeralOf = (value: unknown): string | undefined => {
  if (value instanceof ExactNumber) return value.text
  return typeof value === 'string' && NUMERIC.test(value) ? value : undefined
}

/** True where a DOUBLE holds the number exactly; an integer beyond 2^53 may lose digits. */
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

/** Why a number, or a text in a number's syntax, is no count; null for a count and for any other value. */
export function countIssue(value: unknown): string | null {
  if (numeralOf(value) === undefined && typeof value !== 'number') return null
  const number = numberIn(value)
  if (isCount(number)) return null
  return Number.isFinite(number) && !Number.isInteger(number) ? FRACTION : TOO_LARGE
}
