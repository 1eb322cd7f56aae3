// Explains why something could not be loaded, without values. The messages of DuckDB and JSON.parse quote the value at
// fault, so only the error's class is kept, and the column if the catalog declares it.

import { tablesOf } from '../../catalog/ddl.ts'
import { layoutOf } from '../../catalog/layout.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { isOutOfMemory, messageOf } from '../fault.ts'
import { CLASS } from '../query/query-error.ts'

/** Matches DuckDB's classes of errors about a record's content. */
const ABOUT_A_RECORD =
  /^(Conversion|Invalid Input|Out of Range|Constraint|Mismatch Type|Invalid type|Object Size) Error/i

/** Matches classes whose messages name files, sizes and settings, never values. */
const ABOUT_THE_MACHINE = /^(IO|Out of Memory|Permission|Interrupt|Fatal|INTERNAL) Error/i

/** From this size of its JSON on, a single record may exceed the memory limit. */
const LARGE_RECORD_BYTES = 16 * 1024 * 1024

/** A fault that our own code found; its message contains no value. */
export class LoadFault extends Error {}

/** Returns the column at fault, which DuckDB names in the errors of many casts. */
function columnOf(message: string, columns: ReadonlySet<string>): string | undefined {
  return [...message.matchAll(/source column "?(\w+)"?/g)].map(match => match[1]!).findLast(name => columns.has(name))
}

/** Returns an error's text without any value of a record. `columns` are the column names that it may contain. */
export function safeReason(error: unknown, columns: ReadonlySet<string> = new Set()): string {
  const message = messageOf(error)
  if (error instanceof LoadFault) return message
  if (ABOUT_THE_MACHINE.test(message)) return message.split('\n')[0]!.slice(0, 300)
  const [kind] = CLASS.exec(message) ?? []
  if (kind === undefined) return error instanceof Error ? error.name : 'an unknown fault'
  const column = columnOf(message, columns)
  return column === undefined ? kind : `${kind} in column ${column}`
}

/** Returns the error with its text made safe and its stack trace kept. */
function safeCause(error: unknown): Error {
  const text = safeReason(error)
  const places = error instanceof Error ? (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line)) : []
  const safe = new Error(text)
  safe.stack = [text, ...places].join('\n')
  return safe
}

/** True if a smaller batch may succeed. */
export const isAboutRecords = (error: unknown): boolean => ABOUT_A_RECORD.test(messageOf(error)) || isOutOfMemory(error)

/** True if this record alone is at fault. A lack of memory is no fault of a small record, since other work has taken the memory. */
export const isAboutThisRecord = (error: unknown, bytes: number): boolean =>
  ABOUT_A_RECORD.test(messageOf(error)) || (isOutOfMemory(error) && bytes >= LARGE_RECORD_BYTES)

/** Returns the column names that a reason may contain: those of the record type's tables. */
export const columnsOf = (record: RecordType): ReadonlySet<string> =>
  new Set(tablesOf(layoutOf(record)).flatMap(table => table.columns.map(column => column.name)))

/** Returns the error of a landed file that could not be loaded. */
export const loadError = (file: string, cause: unknown): ConvohouseError =>
  cause instanceof ConvohouseError
    ? cause
    : new ConvohouseError('LOAD_FAILED', {
        what: `The landed file ${file} could not be loaded: ${safeReason(cause)}`,
        hint: 'Nothing is lost: the file stays in the landing. Report it; `convohouse replay` loads it once this is fixed.',
        cause: safeCause(cause),
        facts: { file },
      })
