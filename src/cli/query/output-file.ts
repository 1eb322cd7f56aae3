// An answer in a file: whole under its name, or not there at all.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { access, constants, realpath, rm, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { ConvohouseError } from '../../core/errors.ts'
import { partOf, putInPlace } from '../../warehouse/query/parquet.ts'
import type { QueryResult, Tally } from '../../warehouse/query/results.ts'
import { FORMATS, type Format, type RowFormat } from '../output/format.ts'
import { writeResult } from '../output/write.ts'

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

/** The format that a file's ending tells. @throws FLAG_INVALID where it tells none */
export function formatOfFile(file: string): Format {
  const format = ENDINGS[extname(file).toLowerCase()]
  if (format) return format
  throw new ConvohouseError('FLAG_INVALID', {
    what: `The ending of ${file} tells no format.`,
    hint: `Add --format with one of ${FORMATS.join(', ')}, or end the name in one of ${Object.keys(ENDINGS).join(', ')}.`,
  })
}

/** Arrow has an ending of its own for streams; every other file is one that can be read at any place. */
const inFile = (format: RowFormat, file: string): RowFormat =>
  format === 'arrow' && extname(file).toLowerCase() !== '.arrows' ? 'arrow-file' : format

const unwritable = (file: string, why: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('FLAG_INVALID', {
    what: `${file} cannot be written: ${why}.`,
    hint: 'Give a file in a folder that is there and that you may write to; into a pipe or a device, redirect standard output.',
    cause,
  })

const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? String(cause)

/**
 * Where the file that was given is to be put: behind a link, and never in place of a folder, a pipe or a device.
 * @throws FLAG_INVALID where no file can be
 */
export async function placeOf(file: string): Promise<string> {
  try {
    const place = await realpath(file).catch(cause =>
      codeOf(cause) === 'ENOENT' ? resolve(file) : Promise.reject(cause),
    )
    const found = await stat(place).catch(cause => (codeOf(cause) === 'ENOENT' ? null : Promise.reject(cause)))
    if (found && !found.isFile()) throw unwritable(file, found.isDirectory() ? 'it is a folder' : 'it is no file')
    await access(dirname(place), constants.W_OK)
    return place
  } catch (cause) {
    throw cause instanceof ConvohouseError ? cause : unwritable(file, codeOf(cause), cause)
  }
}

/** Writes under a temporary name beside the file, which it then replaces. Mode 0600: people's messages are in it. */
export async function writeToFile(result: QueryResult, format: RowFormat, file: string): Promise<Tally> {
  const part = partOf(file)
  try {
    const to = createWriteStream(part, { mode: 0o600 })
    await once(to, 'open').catch(cause => {
      throw unwritable(file, codeOf(cause), cause)
    })
    const tally = await writeResult({ result, format: inFile(format, file), to })
    to.end()
    await finished(to)
    await putInPlace(part, file)
    return tally
  } catch (error) {
    await result.close()
    await rm(part, { force: true })
    // A disk that is full, say; what is not the system's is the query's.
    throw error instanceof ConvohouseError || !(error as NodeJS.ErrnoException).syscall
      ? error
      : unwritable(file, codeOf(error), error)
  }
}
