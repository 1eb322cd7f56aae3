// Fields that the catalog does not declare. Inspection notes their paths; a batch of files is read with these paths added to its schema as
// JSON, and their values are stored in `extra`, nested as sent.
import { quoteName, quoteText } from '../layout.ts'

/** Paths as a tree: `detailedCost.twilioCost` is `{ detailedCost: { twilioCost: null } }`; `[]` steps into a list. */
export interface UnknownTree {
  [segment: string]: UnknownTree | null
}

/** In a path, the step from a list to its elements. */
export const ELEMENT = '[]'

/** True for a key that may become a column of the stage. Any other key (dots, quotes, the reserved prefix `__`, …) needs the tolerant path. */
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
 * Compares keys for their order in `extra`, which is the same for all sources of a record: integer keys by number, then the others by code
 * point, as DuckDB sorts text (macro `members`).
 */
export function inExtra(a: string, b: string): number {
  if (isIndex(a) && isIndex(b)) return Number(a) - Number(b)
  if (isIndex(a) !== isIndex(b)) return isIndex(a) ? -1 : 1
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The unknown paths below one segment of a declared path; null where there are none. */
export function subtree(tree: UnknownTree | null | undefined, segment: string): UnknownTree | null {
  return tree?.[segment] ?? null
}

/**
 * SQL of the JSON object with the tree's values below `sql`; NULL where there are none. The object is joined from strings, because
 * `concat_ws` skips absent values, which `json_object` would write as nulls.
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
