// Translates DuckDB's errors about the warehouse file: a disk error, a damaged file, or a file that another process
// holds. DuckDB has no error codes, so errors are recognised by their text.
import { readFile, rename, rm, stat } from 'node:fs/promises'
import { diskErrorCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'

const DAMAGED =
  /not a valid DuckDB database file|Corrupt database file|Corrupt WAL|Could not read enough bytes from file/
/** DuckDB answers every statement with this after a fatal error or a failed checkpoint, until the file is opened again. */
const INVALIDATED = /database( "\w+")? has been invalidated/i
/** A fault inside DuckDB, which also invalidates the database. */
const INTERNAL_FAULT = /^INTERNAL Error/

// Linux and macOS report the first message, Windows the second. "lock" alone would match "block" in the message of a damaged file.
const LOCKED = /Conflicting lock is held|being used by another process/

export const messageOf = (cause: unknown): string => String((cause as Error | undefined)?.message ?? cause)

const firstLine = (message: string): string => message.split('\n')[0]!

/** Matches when DuckDB's memory limit is reached. */
const OUT_OF_MEMORY = /^Out of Memory Error/

export const isOutOfMemory = (cause: unknown): boolean => OUT_OF_MEMORY.test(messageOf(cause))

export const isInvalidated = (cause: unknown): boolean => INVALIDATED.test(messageOf(cause))

export const isLocked = (cause: unknown): boolean => LOCKED.test(messageOf(cause))

/** Returns the file that the message names, else the warehouse file. */
const fileNamed = (message: string, file: string): string => /file "([^"]+)"/.exec(message)?.[1] ?? file

/** Returns HOME_UNUSABLE for a fault of the warehouse file or its disk; null for others, such as one of a landed page. */
export function warehouseFault(file: string, cause: unknown): ConvohouseError | null {
  const message = messageOf(cause)
  const named = fileNamed(message, file)
  if (diskErrorCode(cause) !== null) return homeUnusable(named, cause)
  if (INTERNAL_FAULT.test(message)) {
    return new ConvohouseError('HOME_UNUSABLE', {
      what: `DuckDB failed internally, so this process can no longer use the warehouse ${file}: ${firstLine(message)}`,
      hint: 'Run the same command again: landed pages and loaded rows are kept. If the error persists, report it with this message.',
      cause,
    })
  }
  if (!isInvalidated(cause) && !(DAMAGED.test(message) && named.startsWith(file))) return null
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `The warehouse ${file} ${DAMAGED.test(message) ? 'is damaged' : 'cannot be used'}: ${firstLine(message)}`,
    hint: 'Run the same command again. If the error persists, move the file and its .wal away: `convohouse replay` rebuilds it from the landing.',
    cause,
  })
}

/** Returns the error of a warehouse file that cannot be opened: WAREHOUSE_LOCKED or HOME_UNUSABLE. */
export function openingError(file: string, cause: unknown): ConvohouseError {
  const message = messageOf(cause)
  if (isLocked(cause)) {
    const holder = /PID (\d+)/.exec(message)?.[1]
    return new ConvohouseError('WAREHOUSE_LOCKED', {
      what: `Another process${holder ? ` (PID ${holder})` : ''} holds the warehouse ${file}.`,
      hint: 'Wait until its sync has ended, or stop it. `convohouse query` and `status` of the same version work in the meantime.',
      cause,
      facts: { pid: holder ? Number(holder) : null },
    })
  }
  return (
    warehouseFault(file, cause) ??
    new ConvohouseError('HOME_UNUSABLE', {
      what: `The warehouse ${file} cannot be opened: ${firstLine(message)}`,
      hint: 'Check the permissions of the data folder. If the file is damaged, move it away: `convohouse replay` rebuilds it from the landing.',
      cause,
    })
  )
}

/** Size of DuckDB's headers. A shorter file contains no data: a full disk or a kill interrupted its creation. */
const HEADER_BYTES = 3 * 4096

/** True for a file that is empty, or cut off within DuckDB's headers. We remove no other file. */
export async function isStub(file: string): Promise<boolean> {
  const { size } = await stat(file)
  if (size >= HEADER_BYTES) return false
  return size === 0 || (await readFile(file)).toString('latin1', 8, 12) === 'DUCK'
}

/** Removes a stub. @returns false if another process has put its file there, which stays, with that process's lock */
export async function removeStub(file: string): Promise<boolean> {
  const aside = `${file}.${process.pid}`
  await rename(file, aside)
  const isOurs = await isStub(aside)
  await (isOurs ? rm(aside) : rename(aside, file))
  return isOurs
}
