// Writes a query result to a file, which is either complete or absent.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { access, constants, realpath, rm, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { hasCode, notWritable } from '../../core/disk.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { partOf, putInPlace } from '../../warehouse/query/parquet.ts'
import type { QueryResult, Tally } from '../../warehouse/query/results.ts'
import { FORMATS, type Format, type RowFormat, writeResult } from './write.ts'

const ENDINGS: Readonly<Record<string, Format>> = {
  '.txt': 'table',
  '.csv': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.parquet': 'parquet',
  '.arrow': 'arrow',
  '.feather': 'arrow',
  '.arrows': 'arrow',
}

/** The format that a file's extension names. @throws FLAG_INVALID for an unknown extension */
export function formatOfFile(file: string): Format {
  const format = ENDINGS[extname(file).toLowerCase()]
  if (format) return format
  throw new ConvohouseError('FLAG_INVALID', {
    what: `The extension of ${file} is not that of a known format.`,
    hint: `Add --format with one of ${FORMATS.join(', ')}, or use one of the extensions ${Object.keys(ENDINGS).join(', ')}.`,
  })
}

/** Arrow is written in its seekable file format, except to files named .arrows, the extension of Arrow streams. */
const inFile = (format: RowFormat, file: string): RowFormat =>
  format === 'arrow' && extname(file).toLowerCase() !== '.arrows' ? 'arrow-file' : format

const unwritable = (file: string, cause: unknown): ConvohouseError =>
  notWritable(
    'FLAG_INVALID',
    file,
    cause,
    'Give a file in an existing folder with write permission; for a pipe or a device, redirect standard output.',
  )

/**
 * The path to write to: `file` itself, or the target if it is a symbolic link.
 * @throws FLAG_INVALID for a folder, pipe or device, and if the folder is missing or not writable
 */
export async function resolveOutput(file: string): Promise<string> {
  try {
    const path = await realpath(file).catch(cause => (hasCode(cause, 'ENOENT') ? resolve(file) : Promise.reject(cause)))
    const found = await stat(path).catch(cause => (hasCode(cause, 'ENOENT') ? null : Promise.reject(cause)))
    if (found && !found.isFile()) throw unwritable(file, found.isDirectory() ? 'it is a folder' : 'it is not a file')
    await access(dirname(path), constants.W_OK)
    return path
  } catch (cause) {
    throw cause instanceof ConvohouseError ? cause : unwritable(file, cause)
  }
}

/** Writes to a temporary file in the same folder, then replaces the file. Mode 0600, since it contains people's messages. */
export async function writeToFile(result: QueryResult, format: RowFormat, file: string): Promise<Tally> {
  const part = partOf(file)
  try {
    const to = createWriteStream(part, { mode: 0o600 })
    await once(to, 'open').catch(cause => {
      throw unwritable(file, cause)
    })
    const tally = await writeResult({ result, format: inFile(format, file), to })
    to.end()
    await finished(to)
    await putInPlace(part, file)
    return tally
  } catch (error) {
    await result.close()
    await rm(part, { force: true })
    // A system error, such as a full disk, comes from writing the file; every other error comes from the query.
    throw error instanceof ConvohouseError || !(error as NodeJS.ErrnoException).syscall
      ? error
      : unwritable(file, error)
  }
}
