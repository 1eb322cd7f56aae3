// Fields that the catalog does not declare. Inspection notes their paths; a batch of files is read with these paths added to its
// schema as JSON, and their values are stored in `extra`, nested as sent. Bookkeeping and messages show a declared key, which is
// a field name. Any other key may be data, as in a map keyed by email address, and is shown only if it looks like a field name.
import { quoteName, quoteText } from '../layout.ts'
import type { Fields } from '../shape.ts'

/** Paths as a tree: `detailedCost.twilioCost` is `{ detailedCost: { twilioCost: null } }`; `[]` steps into a list. */
export interface UnknownTree {
  [segment: string]: UnknownTree | null
}

/** Step from a list to its elements in a path. */
export const ELEMENT = '[]'

/** True for a key that may become a column of the stage. Any other (dots, quotes, prefix `__`, …) needs the tolerant path. */
export const isPlainKey = (key: string): boolean => key.length <= 128 && /^(?!__)[\p{L}\p{N}_$-]+$/u.test(key)

/** Builds the tree of the dotted paths that inspection noted. */
export function unknownTree(paths: Iterable<string>): UnknownTree {
  // Without a prototype, because a segment may be named `constructor`.
  const root: UnknownTree = Object.create(null)
  for (const path of paths) {
    const segments = path.replaceAll(ELEMENT, `.${ELEMENT}`).split('.')
    const leaf = segments.pop()!
    let node = root
    for (const segment of segments) {
      node[segment] ??= Object.create(null) as UnknownTree
      node = node[segment] as UnknownTree
    }
    node[leaf] ??= null
  }
  return root
}

/** True for integer keys, which JavaScript lists first in every object, in numeric order. */
const isIndex = (key: string): boolean => /^(0|[1-9]\d{0,8})$/.test(key)

/**
 * Compares keys for their order in `extra`, which is the same for all sources of a record: integer keys by number, then
 * the others by code point, as DuckDB sorts text (macro `members`).
 */
export function inExtra(a: string, b: string): number {
  if (isIndex(a) && isIndex(b)) return Number(a) - Number(b)
  if (isIndex(a) !== isIndex(b)) return isIndex(a) ? -1 : 1
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Returns the unknown paths below one segment of a declared path; null if there are none. */
export function subtree(tree: UnknownTree | null | undefined, segment: string): UnknownTree | null {
  return tree?.[segment] ?? null
}

/**
 * Returns the SQL of the JSON object with the tree's values below `sql`; NULL if there are none. The object is joined
 * from strings, because `concat_ws` skips missing values, which `json_object` would write as nulls.
 */
export function extraSql(tree: UnknownTree | null, sql: string): string {
  const keys = Object.keys(tree ?? {}).sort(inExtra)
  const parts = keys.flatMap(key => {
    const below = tree![key]
    if (key === ELEMENT || below?.[ELEMENT]) return []
    const value = below ? extraSql(below, `${sql}.${quoteName(key)}`) : `${sql}.${quoteName(key)}`
    return value === 'NULL' ? [] : [`${quoteText(`${JSON.stringify(key)}:`)} || ${value}`]
  })
  if (parts.length === 0) return 'NULL'
  return `('{' || nullif(concat_ws(',', ${parts.join(', ')}), '') || '}')::JSON`
}

/** Placeholder for a key that may be personal data. */
export const ANY_KEY = '*'

/** True for a plain name. False for addresses, sentences, and keys with five digits in a row, which may be a phone number or an id. */
const isFieldName = (key: string): boolean => /^[A-Za-z_$][\w$-]{0,63}$/.test(key) && !/\d{5}/.test(key)

export const safeKey = (key: string): string => (isFieldName(key) ? key : ANY_KEY)

/**
 * Returns the path of `keys` (`[]` for an element): declared keys, then the first undeclared one if it is safe, and
 * nothing below it. Below a field that may contain any JSON, all keys are data.
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
