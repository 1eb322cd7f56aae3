// The envelope of a page, beside its records. DuckDB parses it too, and nesting crashes the process (8 MB of stack): objects between ten
// and twenty thousand levels deep, lists between fifty and a hundred thousand.
import { isObject, isTooDeep } from './inspect.ts'

/** The envelope's entry among the awkward paths of a page; no path in a record is spelt like it. */
export const TOO_DEEP_AROUND = '(nesting around the records)'

/** True where a body holds, beside its list of records, what is nested deeper than DuckDB is ever given to read. */
export const isTooDeepAround = (body: unknown, list: string): boolean =>
  isObject(body) && Object.entries(body).some(([key, value]) => key !== list && isTooDeep(value))
