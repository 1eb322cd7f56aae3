// DuckDB's errors as ours. The text is DuckDB's, with the line, the caret and "Did you mean": nobody says it better.
// It may quote a value of the data; it goes to the one who asked for that data, and to no log.

import { ConvohouseError } from '../../core/errors.ts'

/** A reader writes nothing but what it spills. */
const CANNOT_SPILL = /^IO Error: .*\.spill/s

/** The error that a failed query is reported as; an error of ours passes through. */
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
      hint: 'Ask for fewer rows or columns, or aggregate; or raise the memory limit.',
      cause,
    })
  }
  if (CANNOT_SPILL.test(what)) {
    return new ConvohouseError('SQL_INVALID', {
      what: `The query does not fit into memory, and what does not cannot be written beside the warehouse: ${what}`,
      hint: 'Ask for less, or raise the memory limit; or give the data folder space and write permission.',
      cause,
    })
  }
  return new ConvohouseError('SQL_INVALID', { what, cause })
}

function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  return message.replace(/^Failed to extract statements: /, '')
}
