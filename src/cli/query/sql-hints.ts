// Hints for errors of SQL.
import { ConvohouseError, isCode } from '../../core/errors.ts'

// Hints by error message: DuckDB has no codes for these errors. The texts are those of DuckDB 1.5.
const HINTS: readonly [RegExp, string][] = [
  [
    /^Catalog Error: Table with name/,
    '`convohouse query "SHOW TABLES"` lists the tables, "SHOW TABLES FROM marts" the marts; `convohouse dictionary` describes all.',
  ],
  [
    /^Binder Error: (Referenced column|Table .* does not have a column|Column .* does not exist on)/,
    '`convohouse dictionary NAME` lists the columns of a table, view, mart or model.',
  ],
  [
    /^Conversion Error: Type U?INT128 with value/,
    'Integers of results have at most 64 bits: cast the column with ::DECIMAL(38,0), ::DOUBLE or ::VARCHAR.',
  ],
  [
    /^Catalog Error: Scalar Function with name/,
    'The SQL can use DuckDB functions: https://duckdb.org/docs/stable/sql/functions/overview',
  ],
]

/** Removes the class from DuckDB's errors about the SQL, and adds a hint to those about unknown tables, columns and functions. */
export function withHint(error: unknown): unknown {
  if (!isCode(error, 'SQL_INVALID')) return error
  const hint = error.hint ?? HINTS.find(([pattern]) => pattern.test(error.message))?.[1]
  const what = error.message.replace(/^(Catalog|Binder|Parser) Error: /, '').trimEnd()
  return new ConvohouseError(error.code, { what, ...(hint !== undefined && { hint }), cause: error })
}
