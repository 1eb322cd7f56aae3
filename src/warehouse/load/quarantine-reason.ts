// Why something could not be loaded, in words that may be told. DuckDB's messages quote the value at fault, and so do those
// of JSON.parse: of them only the class is kept, and the column where its name is one of ours.

import { tablesOf } from '../../catalog/ddl.ts'
import { layoutOf } from '../../catalog/layout.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { ConvohouseError } from '../../core/errors.ts'

/** DuckDB's classes of errors that are about what a record holds. */
const ABOUT_A_RECORD =
  /^(Conversion|Invalid Input|Out of Range|Constraint|Mismatch Type|Invalid type|Object Size) Error/i

const OUT_OF_MEMORY = /^Out of Memory Error/i

/** Classes whose messages speak of files, sizes and settings, never of values. */
const ABOUT_THE_MACHINE = /^(IO|Out of Memory|Permission|Interrupt|Fatal|INTERNAL) Error/i

const UNKNOWN_FAULT = 'an unknown fault'

const CLASS = /^[A-Z][A-Za-z ]{1,40} Error\b/

/** A record that alone takes so much that memory may end over it. Bytes of JSON. */
const LARGE_RECORD_BYTES = 16 * 1024 * 1024

/** A fault that we found ourselves; its message may be told. */
export class LoadFault extends Error {}

const messageOf = (error: unknown): string => String((error as Error)?.message ?? error)

/** DuckDB tells of many casts which column they were for. */
function columnOf(message: string, columns: ReadonlySet<string>): string | undefined {
  return [...message.matchAll(/source column "?(\w+)"?/g)].map(match => match[1]!).findLast(name => columns.has(name))
}

/** What may be told of an error: no value of a record is in it. `columns` are the names that may be told. */
export function safeReason(error: unknown, columns: ReadonlySet<string> = new Set()): string {
  const message = messageOf(error)
  if (error instanceof LoadFault) return message
  if (ABOUT_THE_MACHINE.test(message)) return message.split('\n')[0]!.slice(0, 300)
  const [kind] = CLASS.exec(message) ?? []
  if (kind === undefined) return error instanceof Error ? error.name : UNKNOWN_FAULT
  const column = columnOf(message, columns)
  return column === undefined ? kind : `${kind} in column ${column}`
}

/** True for a reason that came of loading a record, which had been read by then: what was found in it has been told. */
export const isLoadError = (reason: string): boolean => /Error\b/.test(reason) || reason === UNKNOWN_FAULT

/** The error without what may not be told, with the places in the code that it came from. */
export function safeCause(error: unknown): Error {
  const text = safeReason(error)
  const places = error instanceof Error ? (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line)) : []
  const told = new Error(text)
  told.stack = [text, ...places].join('\n')
  return told
}

/** True where fewer records may do what these could not. */
export const isAboutRecords = (error: unknown): boolean =>
  ABOUT_A_RECORD.test(messageOf(error)) || OUT_OF_MEMORY.test(messageOf(error))

/** True where one record alone is at fault. Memory that a small record does not get, others have taken. */
export const isAboutThisRecord = (error: unknown, bytes: number): boolean =>
  ABOUT_A_RECORD.test(messageOf(error)) || (OUT_OF_MEMORY.test(messageOf(error)) && bytes >= LARGE_RECORD_BYTES)

/** Names that a reason may tell: columns of the record type's tables. */
export const columnsOf = (record: RecordType): ReadonlySet<string> =>
  new Set(tablesOf(layoutOf(record)).flatMap(table => table.columns.map(column => column.name)))

/** The error of a landed file that could not be loaded. */
export const loadError = (file: string, cause: unknown): ConvohouseError =>
  cause instanceof ConvohouseError
    ? cause
    : new ConvohouseError('LOAD_FAILED', {
        what: `The landed file ${file} could not be loaded: ${safeReason(cause)}`,
        hint: 'Nothing of it is lost: it stays in the landing. Report the file; `convohouse replay` loads it once this is mended.',
        cause: safeCause(cause),
        facts: { file },
      })
