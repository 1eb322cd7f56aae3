// Paths that are safe to show in bookkeeping and messages. A declared key is a field name. Any other key may be data, as in a map keyed by
// email address, and is shown only if it looks like a field name.
import type { Fields } from '../shape.ts'
import { ELEMENT } from './unknown-fields.ts'

/** Shown in place of a key that may be personal data. */
export const ANY_KEY = '*'

/** True for a plain name. False for addresses, sentences, and keys with five digits in a row, which may be a phone number or an id. */
const isFieldName = (key: string): boolean => /^[A-Za-z_$][\w$-]{0,63}$/.test(key) && !/\d{5}/.test(key)

export const safeKey = (key: string): string => (isFieldName(key) ? key : ANY_KEY)

/**
 * The path of `keys` (`[]` for an element): declared keys, then the first undeclared one if it is safe, and nothing below it. Below a
 * field that may hold any JSON, all keys are data.
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
