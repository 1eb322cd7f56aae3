// Values that hold no readable time where one is expected, such as `next Monday` or the 30th of February. They are kept as sent, are NULL as
// a time, and count as data issues.
import { isMoment } from '../../core/time.ts'
import { ExactNumber } from '../../json/exact-json.ts'
import type { Lift, Scalar } from '../shape.ts'
import { ELEMENT } from './unknown-fields.ts'

/** Name of this issue in `_issues`. */
export const UNREAD_TIME = 'no time that can be read'

export interface UnreadTime {
  path: string
  declared: string
  seen: string
}

const timesOf = (field: Scalar): readonly Lift[] => (field.unnest?.lift ?? []).filter(({ type }) => type === 'time')

/** True for a field that may hold a time as text, itself or in its elements. */
export const mayHoldTimes = (field: Scalar): boolean => field.type === 'moment' || timesOf(field).length > 0

/** A scalar as DuckDB's `->>` writes it; null for any other value and for an empty text. */
function textOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  if (value === null || value === undefined || typeof value === 'object' || value === '') return null
  return String(value)
}

const seenAs = (value: unknown): string => (value instanceof ExactNumber ? 'number' : typeof value)

/** The unreadable times in a value of this field. `path`: the field's path. */
export function unreadTimes(field: Scalar, value: unknown, path: string): UnreadTime[] {
  if (field.type === 'moment') {
    const text = textOf(value)
    return text === null || isMoment(text) ? [] : [{ path, declared: 'moment', seen: seenAs(value) }]
  }
  if (!Array.isArray(value)) return []
  const lifts = timesOf(field)
  const unread: UnreadTime[] = []
  for (const element of value as readonly unknown[]) {
    if (typeof element !== 'object' || element === null) continue
    for (const { keys } of lifts) {
      const key = keys.find(name => textOf((element as Record<string, unknown>)[name]) !== null)
      if (key === undefined) continue
      const found = (element as Record<string, unknown>)[key]
      if (!isMoment(textOf(found)!))
        unread.push({ path: `${path}${ELEMENT}.${key}`, declared: 'time', seen: seenAs(found) })
    }
  }
  return unread
}
