// What clients and servers of queries over HTTP share: paths, headers, formats, errors. Loads no DuckDB.
import { ConvohouseError, ERRORS, type ErrorCode, type ErrorKind } from '../../../core/errors.ts'
import { CELLS_MEDIA_TYPE, type ErrorBody } from '../formats/cells.ts'
import type { StreamedFormat } from '../formats/encode.ts'

export const QUERY_PATH = '/query'
export const PARQUET_MEDIA_TYPE = 'application/vnd.apache.parquet'
export const ROWS_HEADER = 'Convohouse-Rows'
export const TRUNCATED_HEADER = 'Convohouse-Truncated'

export type QueryFormat = StreamedFormat | 'parquet'

const FORMATS: Readonly<Record<string, QueryFormat>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'application/vnd.apache.arrow.stream': 'arrow',
  [PARQUET_MEDIA_TYPE]: 'parquet',
  [CELLS_MEDIA_TYPE]: 'cells',
}

export const MEDIA_TYPES = new Map(Object.entries(FORMATS).map(([type, format]) => [format, type]))

export const invalidRequest = (status: number, what: string, hint: string, code: ErrorCode = 'FLAG_INVALID') =>
  new ConvohouseError(code, { what, hint, facts: { status } })

/** Returns the format of the first media type in `Accept` that is supported; JSON if the client has no preference. */
export function formatOf(accept = '*/*'): QueryFormat {
  const types = accept.split(',').map(type => type.split(';')[0]!.trim().toLowerCase())
  for (const type of types) {
    if (type === '*/*' || type === 'application/*') return 'json'
    if (Object.hasOwn(FORMATS, type)) return FORMATS[type]!
  }
  throw invalidRequest(
    406,
    `There is no format for ${accept}.`,
    `Accept one of ${Object.keys(FORMATS)
      .filter(type => type !== CELLS_MEDIA_TYPE)
      .join(', ')}.`,
  )
}

const OF_CODE: Partial<Record<ErrorCode, number>> = {
  NOT_SIGNED_IN: 401,
  SQL_REFUSED: 403,
  QUERY_HELD: 403,
  CONVERSATION_UNKNOWN: 404,
  TOO_MANY_REQUESTS: 429,
  QUERY_TIMEOUT: 504,
  QUERY_MEMORY: 507,
}

const OF_KIND: Partial<Record<ErrorKind, number>> = { input: 400, access: 403, transient: 503 }

/** Returns the HTTP status of an answer that reports an error. */
export const statusOf = ({ code, kind, facts }: ConvohouseError): number =>
  typeof facts.status === 'number' ? facts.status : (OF_CODE[code] ?? OF_KIND[kind] ?? 500)

/** Returns the answer that reports an error before the first row. */
export function errorAnswer(error: ConvohouseError) {
  const { code, message: what, hint } = error
  const headers = { 'Content-Type': 'application/json', ...(code === 'TOO_MANY_QUERIES' && { 'Retry-After': '1' }) }
  return { status: statusOf(error), headers, body: { error: { code, what, hint } satisfies ErrorBody } }
}

/** Returns the error that an answer reports. A code that only a newer version knows becomes SQL_INVALID. */
export function errorFrom({ code, what, hint }: ErrorBody): ConvohouseError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'SQL_INVALID'
  return new ConvohouseError(known, { what, hint })
}
