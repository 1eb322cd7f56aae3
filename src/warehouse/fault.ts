// What DuckDB says of the warehouse's file itself: its disk refuses, or it is damaged. DuckDB gives neither a code of its own.
import { diskErrorCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'

const DAMAGED =
  /not a valid DuckDB database file|Corrupt database file|Corrupt WAL|Could not read enough bytes from file/
/** After a fatal error DuckDB answers nothing more, and says so each time. */
const GIVEN_UP = /database has been invalidated/
/** After a checkpoint that failed: the file is as it was before, and answers when it is attached anew. */
const TO_REATTACH = /has been invalidated because checkpointing failed|^IO Error: Checkpoint failed for database/
/** A fault within DuckDB, after which the same holds. */
const FAULT_WITHIN = /^INTERNAL Error/

export const needsReattach = (cause: unknown): boolean =>
  TO_REATTACH.test(String((cause as Error | undefined)?.message ?? cause))

const firstLine = (message: string): string => message.split('\n')[0]!

/** The file that the message names, else the warehouse's. */
const fileNamed = (message: string, file: string): string => /file "([^"]+)"/.exec(message)?.[1] ?? file

/** An error of DuckDB's as one of the data folder's; null where it is about something else, such as a landed page. */
export function warehouseFault(file: string, cause: unknown): ConvohouseError | null {
  const message = String((cause as Error | undefined)?.message ?? cause)
  const named = fileNamed(message, file)
  if (diskErrorCode(cause) !== null) return homeUnusable(named, cause)
  if (FAULT_WITHIN.test(message)) {
    return new ConvohouseError('HOME_UNUSABLE', {
      what: `DuckDB failed within itself, and this process can use the warehouse ${file} no more: ${firstLine(message)}`,
      hint: 'Run the same command again: what was loaded before is kept, and so is what has landed. If it stays, report it with that line.',
      cause,
    })
  }
  if (!GIVEN_UP.test(message) && !(DAMAGED.test(message) && named.startsWith(file))) return null
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `The warehouse ${file} cannot be used: ${firstLine(message)}`,
    hint: 'Run the same command again. If it stays, move the file and its .wal away: `convohouse replay` rebuilds it from the landing.',
    cause,
  })
}
