// What stands around a page's records. Nothing of it is kept, but DuckDB reads it on its way to the records: objects between
// ten and twenty thousand deep, or lists between fifty and a hundred thousand, end its process (8 MB of stack).
import { isObject, isTooDeep } from './inspect.ts'

/** Stands among the awkward paths of a page for what is around its records; no path of a record is spelt so. */
export const TOO_DEEP_AROUND = '(nesting around the records)'

/** True where a body holds, beside its list of records, what is nested deeper than DuckDB is ever given to read. */
export const isTooDeepAround = (body: unknown, list: string): boolean =>
  isObject(body) && Object.entries(body).some(([key, value]) => key !== list && isTooDeep(value))
