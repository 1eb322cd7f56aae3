// Paths that are safe to show in bookkeeping and messages. Keys that the catalog declares are names of fields; any other key
// may be data (a map keyed by e-mail addresses, say), and is shown only where it looks like the name of a field.
import type { Fields } from '../shape.ts'
import { ELEMENT } from './unknown-fields.ts'

/** Replaces a key that may be somebody's data in a safe path. */
export const ANY_KEY = '*'

/** A word as programs name fields: no address, no sentence, and no number long enough for a telephone or an id. */
const isFieldName = (key: string): boolean => /^[A-Za-z_$][\w$-]{0,63}$/.test(key) && !/\d{5}/.test(key)

export const safeKey = (key: string): string => (isFieldName(key) ? key : ANY_KEY)

/**
 * The path of `keys` (`[]` for an element): declared keys as they are, the first one that is not declared if it is
 * safe, and nothing below it. Below a field that may hold anything all keys are data.
 */
export function safePath(fields: Fields, keys: readonly string[]): string {
  const [key, ...below] = keys
  if (key === undefined) return ''
  if (!Object.hasOwn(fields, key)) return safeKey(key)
  const field = fields[key]!
  if (below.length === 0) return key
  if (field.kind === 'texts') return `${key}${ELEMENT}`
  if (field.kind === 'scalar') return below[0] === ELEMENT ? `${key}${ELEMENT}` : `${key}.${ANY_KEY}`
  const list = below[0] === ELEMENT
  if (list !== (field.kind === 'objects')) return list ? `${key}${ELEMENT}` : `${key}.${ANY_KEY}`
  const inner = safePath(field.fields, list ? below.slice(1) : below)
  return inner === '' ? `${key}${list ? ELEMENT : ''}` : `${key}${list ? ELEMENT : ''}.${inner}`
}
