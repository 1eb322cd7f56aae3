// Translates DuckDB's errors about a query. They keep DuckDB's text, with the line, the caret and "Did you mean". The
// text may quote data, so only the caller receives it, never a log.

import { ConvohouseError } from '../../core/errors.ts'

/** A reader writes only spill files, so this IO error means that it cannot spill. */
const CANNOT_SPILL = /^IO Error: .*\.spill/s

/** Matches DuckDB's messages of classes that quote only the SQL; others may quote a value. */
export const ABOUT_THE_SQL = /^(Parser|Binder|Catalog) Error: [^\n]*/

/** Matches the class of DuckDB's message. */
export const CLASS = /^[A-Z][A-Za-z ]{1,40} Error\b/

/** Returns the error to report for a failed query; our own errors are returned unchanged. */
export function queryError(cause: unknown): ConvohouseError {
  if (cause instanceof ConvohouseError) return cause
  const what = messageOf(cause)
  if (/^INTERRUPT Error/.test(what))
    return new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.', cause })
  if (/^Permission Error/.test(what)) {
    return new ConvohouseError('SQL_REFUSED', { what, hint: 'Read only tables and views of the warehouse.', cause })
  }
  if (/^Out of Memory Error/.test(what)) {
    return new ConvohouseError('SQL_INVALID', {
      what,
      hint: 'Query fewer rows or columns, or aggregate; or raise the memory limit.',
      cause,
    })
  }
  if (CANNOT_SPILL.test(what)) {
    return new ConvohouseError('SQL_INVALID', {
      what: `The query does not fit into memory, and the rest cannot be spilled to disk beside the warehouse: ${what}`,
      hint: 'Query fewer rows, raise the memory limit, free disk space, or make the data folder writable.',
      cause,
    })
  }
  return new ConvohouseError('SQL_INVALID', { what, cause })
}

function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  return message.replace(/^Failed to extract statements: /, '')
}
