// Values for the parameters of a caller's SQL.
import { ConvohouseError } from '../../core/errors.ts'
import type { ParamValues } from './casts.ts'

/** Beyond 2^53 the sender's digits are lost already. */
const isBindable = (value: unknown): boolean =>
  value === null ||
  ['string', 'boolean'].includes(typeof value) ||
  (typeof value === 'number' && (Number.isSafeInteger(value) || !Number.isInteger(value)))

/** Returns the values as DuckDB binds them; undefined if none are given. @throws FLAG_INVALID for values of other types */
export function paramValues(params: unknown): ParamValues | undefined {
  if (params === undefined) return undefined
  if (typeof params === 'object' && params !== null && Object.values(params).every(isBindable))
    return params as ParamValues
  throw new ConvohouseError('FLAG_INVALID', {
    what: 'A value in `params` cannot be bound.',
    hint: 'Give a list for ? and $1, or an object for $name, of texts, true, false, null, and numbers (integers up to 2^53).',
    facts: { status: 400 },
  })
}
