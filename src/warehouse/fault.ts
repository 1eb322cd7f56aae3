// DuckDB's errors about the warehouse file itself: its disk refuses, it is damaged, or another process holds it. DuckDB gives none of them a
// code, so they are recognised by their text.
import { diskErrorCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'

const DAMAGED =
  /not a valid DuckDB database file|Corrupt database file|Corrupt WAL|Could not read enough bytes from file/
/** After a fatal error DuckDB answers every statement with this. */
const INVALIDATED = /database has been invalidated/
/** A checkpoint failed: the file is as it was before, and usable again once it is reattached. */
const CHECKPOINT_FAILED = /has been invalidated because checkpointing failed|^IO Error: Checkpoint failed for database/
/** A fault inside DuckDB, after which the database is invalidated too. */
const INTERNAL_FAULT = /^INTERNAL Error/

// Linux and macOS report the first, Windows the second. "lock" alone would match "block" in the message of a damaged file.
const LOCKED = /Conflicting lock is held|being used by another process/

const messageOf = (cause: unknown): string => String((cause as Error | undefined)?.message ?? cause)

const firstLine = (message: string): string => message.split('\n')[0]!

export const needsReattach = (cause: unknown): boolean => CHECKPOINT_FAILED.test(messageOf(cause))

export const isLocked = (cause: unknown): boolean => LOCKED.test(messageOf(cause))

/** The file that the message names, else the warehouse's. */
const fileNamed = (message: string, file: string): string => /file "([^"]+)"/.exec(message)?.[1] ?? file

/** HOME_UNUSABLE for a fault of the warehouse file or its disk; null for any other error, such as one about a landed page. */
export function warehouseFault(file: string, cause: unknown): ConvohouseError | null {
  const message = messageOf(cause)
  const named = fileNamed(message, file)
  if (diskErrorCode(cause) !== null) return homeUnusable(named, cause)
  if (INTERNAL_FAULT.test(message)) {
    return new ConvohouseError('HOME_UNUSABLE', {
      what: `DuckDB failed internally, and this process cannot use the warehouse ${file} any more: ${firstLine(message)}`,
      hint: 'Run the same command again: landed pages and loaded rows are kept. If the error persists, report it with that line.',
      cause,
    })
  }
  if (!INVALIDATED.test(message) && !(DAMAGED.test(message) && named.startsWith(file))) return null
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `The warehouse ${file} cannot be used: ${firstLine(message)}`,
    hint: 'Run the same command again. If the error persists, move the file and its .wal away: `convohouse replay` rebuilds it from the landing.',
    cause,
  })
}

/** The error of a file that could not be attached: WAREHOUSE_LOCKED or HOME_UNUSABLE. */
export function openingError(file: string, cause: unknown): ConvohouseError {
  const message = messageOf(cause)
  if (isLocked(cause)) {
    const holder = /PID (\d+)/.exec(message)?.[1]
    return new ConvohouseError('WAREHOUSE_LOCKED', {
      what: `Another process${holder ? ` (PID ${holder})` : ''} holds ${file}.`,
      hint: 'Wait until its sync has ended, or stop it. `convohouse query` and `status` work meanwhile.',
      cause,
      facts: { pid: holder ? Number(holder) : null },
    })
  }
  return (
    warehouseFault(file, cause) ??
    new ConvohouseError('HOME_UNUSABLE', {
      what: `Cannot open ${file}: ${firstLine(message)}`,
      hint: 'Check that the data folder is writable. A damaged warehouse may be deleted: `convohouse replay` rebuilds it from the landing.',
      cause,
    })
  )
}
