// An answer in a file: whole under its name, or not there at all.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { finished } from 'node:stream/promises'
import { ConvohouseError } from '../../core/errors.ts'
import { partOf, putInPlace } from '../../warehouse/query-parquet.ts'
import type { QueryResult, Tally } from '../../warehouse/results.ts'
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
    mend: `Add --format with one of ${FORMATS.join(', ')}, or end the name in .csv, .json, .ndjson, .parquet or .arrow.`,
  })
}

/** Arrow has an ending of its own for streams; every other file is one that can be read at any place. */
const inFile = (format: RowFormat, file: string): RowFormat =>
  format === 'arrow' && extname(file).toLowerCase() !== '.arrows' ? 'arrow-file' : format

const unwritable = (file: string, cause: unknown): ConvohouseError =>
  new ConvohouseError('FLAG_INVALID', {
    what: `${file} cannot be written: ${(cause as NodeJS.ErrnoException).code ?? String(cause)}.`,
    mend: 'Give a file in a folder that is there and that you may write to.',
    cause,
  })

/** Writes under a temporary name beside the file, which it then replaces. Mode 0600: people's messages are in it. */
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
    throw error
  }
}
