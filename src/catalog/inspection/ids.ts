// Ids as sent: texts, or numbers.
import { ExactNumber } from '../../json/exact-json.ts'

/** An id as text; null for an empty text and for anything else. */
export function idOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : null
}
