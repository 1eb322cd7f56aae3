// A hint under DuckDB's message: where to look up the names that there are.
import { ConvohouseError, isCode } from '../../core/errors.ts'

// DuckDB gives these no code of their own; the words are those of its 1.5.
const HINTS: readonly [RegExp, string][] = [
  [
    /^Catalog Error: Table with name/,
    '`convohouse query "SHOW TABLES"` lists the tables; `convohouse dictionary` says what is in them.',
  ],
  [
    /^Binder Error: (Referenced column|Table .* does not have a column|Column .* does not exist on)/,
    '`convohouse query "DESCRIBE conversations"` lists the columns of a table.',
  ],
  [
    /^Conversion Error: Could not cast value -?\d+ to DECIMAL\(38,0\)/,
    'Arrow and Parquet hold integers of 38 digits: cast the column to VARCHAR or DOUBLE, or take another format.',
  ],
  [
    /^Catalog Error: Scalar Function with name/,
    'Functions are those of DuckDB: https://duckdb.org/docs/stable/sql/functions/overview',
  ],
]

/** The same error, with a hint where there is one. */
export function withHint(error: unknown): unknown {
  if (!isCode(error, 'SQL_INVALID') || error.hint !== undefined) return error
  const hint = HINTS.find(([pattern]) => pattern.test(error.message))?.[1]
  return hint === undefined
    ? error
    : new ConvohouseError(error.code, { what: error.message.trimEnd(), hint, cause: error })
}
