// Writes a query result to a stream or a file, in the format that a flag, the stream or the file's extension determines.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { access, constants, realpath, rm, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { hasCode, notWritable } from '../../core/disk.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { encode } from '../../warehouse/query/formats/encode.ts'
import { partOf, putInPlace } from '../../warehouse/query/parquet.ts'
import type { QueryResult, Tally } from '../../warehouse/query/results.ts'
import { answerFor } from '../terminal/controls.ts'
import { isTerminal } from '../terminal/style.ts'
import { type TableOptions, table } from './table.ts'

export const FORMATS = ['table', 'csv', 'json', 'ndjson', 'parquet', 'arrow'] as const
export type Format = (typeof FORMATS)[number]

/** Formats that are written from rows; `arrow-file` is Arrow as a seekable file, `csv-excel` CSV for spreadsheets. DuckDB itself writes Parquet (`copyToParquet`). */
export type RowFormat = Exclude<Format, 'parquet'> | 'arrow-file' | 'csv-excel'

/** Formats that would garble a terminal. */
const BINARY: ReadonlySet<Format> = new Set(['parquet', 'arrow'])

/** Returns the given format, else a table on a terminal and CSV elsewhere. @throws FLAG_INVALID for a binary format on a terminal */
export function chooseFormat(given: Format | undefined, to: Writable): Format {
  const format = given ?? (isTerminal(to) ? 'table' : 'csv')
  if (BINARY.has(format) && isTerminal(to)) {
    throw new ConvohouseError('FLAG_INVALID', {
      what: `The format ${format} is binary, and standard output is a terminal.`,
      hint: 'Write to a file with -o FILE, or redirect the output.',
    })
  }
  return format
}

/** Yields the result in a format, piece by piece. */
export async function* formatted(
  result: QueryResult,
  format: RowFormat,
  options: TableOptions = {},
): AsyncGenerator<string | Uint8Array> {
  if (format === 'table') yield* table(result, options)
  else yield* encode(result, format)
}

/** Returns table options for a stream. Node's `hasColors` reads NO_COLOR (no-color.org). */
const tableOptions = (to: Writable): TableOptions =>
  isTerminal(to) ? { width: to.columns, color: to.hasColors() } : {}

interface WriteRequest {
  result: QueryResult
  format: RowFormat
  /** Stays open after the result, so that a command can write more to standard output. */
  to: Writable
  /** Default: width and colour that the stream `to` supports. */
  table?: TableOptions
}

/**
 * Writes a result with backpressure, then closes the result. A reader that stops early (`| head`) is no error: the
 * query stops, and the tally counts the rows written so far. Other errors of the stream are thrown.
 */
export async function writeResult({ result, format, to, table = tableOptions(to) }: WriteRequest): Promise<Tally> {
  const broken = new AbortController()
  const onError = (error: Error) => broken.abort(error)
  to.on('error', onError)
  try {
    for await (const piece of formatted(result, format, table)) {
      if (broken.signal.aborted) throw broken.signal.reason
      if (!to.write(format === 'table' ? piece : answerFor(to, piece))) await drained(to, broken.signal)
    }
    await flushed(to, broken.signal)
  } catch (error) {
    const reason = broken.signal.aborted ? broken.signal.reason : error
    if (!isClosedPipe(reason)) throw reason
  } finally {
    await result.close()
    to.off('error', onError)
    // A broken pipe may emit a second error, for data in flight.
    if (broken.signal.aborted) to.on('error', () => {})
  }
  return result.tally()
}

/** Resolves once the stream accepts data again. */
async function drained(to: Writable, broken: AbortSignal): Promise<void> {
  if (to.destroyed) throw closedPipe()
  const closed = new AbortController()
  const onClose = () => closed.abort()
  to.once('close', onClose)
  try {
    await once(to, 'drain', { signal: AbortSignal.any([broken, closed.signal]) })
  } catch (error) {
    if (closed.signal.aborted) throw closedPipe()
    throw error
  } finally {
    to.off('close', onClose)
  }
}

/** Waits until the last piece is written, so that its error is thrown here. */
function flushed(to: Writable, broken: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (broken.aborted) return reject(broken.reason)
    to.write('', error => (error ? reject(error) : resolve()))
  })
}

const closedPipe = () => Object.assign(new Error('The stream is closed.'), { code: 'EPIPE' })

function isClosedPipe(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}

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

/** Returns the format for a file's extension. @throws FLAG_INVALID for an unknown extension */
export function formatOfFile(file: string): Format {
  const format = ENDINGS[extname(file).toLowerCase()]
  if (format) return format
  throw new ConvohouseError('FLAG_INVALID', {
    what: `The extension of ${file} is not that of a known format.`,
    hint: `Add --format with one of ${FORMATS.join(', ')}, or use one of the extensions ${Object.keys(ENDINGS).join(', ')}.`,
  })
}

/** Selects Arrow's seekable file format, except for files named .arrows, the extension of Arrow streams. */
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
 * Returns the path to write to: `file` itself, or the target if it is a symbolic link.
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

/** Writes to a temporary file in the same folder, then replaces the file. Its mode is 0600, since it contains people's messages. */
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
