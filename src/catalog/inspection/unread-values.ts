// Values that hold no readable time or no count where one is expected, such as 0 (the vendor's "never"), `next Monday`, the 30th of February,
// or half a message in an element of unknown shape. They are NULL as a time or a count, and are data issues; texts are kept as sent.
import { isMoment } from '../../core/time.ts'
import { ExactNumber } from '../../json/exact-json.ts'
import type { Lift, Scalar } from '../shape.ts'
import { countIssue, numberIn } from './numbers.ts'
import { ANY_KEY, ELEMENT } from './unknown-fields.ts'

/** Names of times that cannot be read in `_issues`. */
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

/** True for a field that may hold a time, itself or in its elements, or counts in its elements. */
export const mayHoldUnread = (field: Scalar): boolean =>
  field.type === 'time' || field.type === 'moment' || liftsOf(field).length > 0

/** A scalar as DuckDB's `->>` writes it; null for any other value and for an empty text. */
function textOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  if (value === null || value === undefined || typeof value === 'object' || value === '') return null
  return String(value)
}

const seenAs = (value: unknown): string => (value instanceof ExactNumber ? 'number' : typeof value)

const timeIssue = (value: unknown): string | null => (isMoment(textOf(value)!) ? null : UNREAD_TIME)

/** The elements of an array or the entries of an object, and the path to them. */
function elementsOf(
  { unnest }: Scalar,
  value: unknown,
  path: string,
): { within: string; elements: readonly unknown[] } {
  if (unnest?.over === 'elements') return { within: path + ELEMENT, elements: Array.isArray(value) ? value : [] }
  const isEntries = typeof value === 'object' && value !== null && !Array.isArray(value)
  return { within: `${path}.${ANY_KEY}`, elements: isEntries ? Object.values(value) : [] }
}

/** The unreadable times and counts in a value of this field. `path`: the field's path. */
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
