// Which format an answer is written in.

import type { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { ConvohouseError } from '../../core/errors.ts'
import { encode } from '../../warehouse/query/formats/encode.ts'
import type { QueryResult } from '../../warehouse/query/results.ts'
import { type TableOptions, table } from './table.ts'

export const FORMATS = ['table', 'csv', 'json', 'ndjson', 'parquet', 'arrow'] as const
export type Format = (typeof FORMATS)[number]

/**
 * The formats that are written from rows, Arrow as a stream or as a file. Parquet is not: DuckDB writes it (`copyToParquet`).
 */
export type RowFormat = Exclude<Format, 'parquet'> | 'arrow-file'

/** Formats that no person can read, and that would upset a terminal. */
const BINARY: ReadonlySet<Format> = new Set(['parquet', 'arrow'])

/**
 * The format that a name means; without a name a table on a terminal and CSV elsewhere, since what is piped is read by
 * a program, and CSV is what every one of them reads.
 *
 * @throws FLAG_INVALID for a name that is none, and for a binary format on a terminal
 */
export function chooseFormat(name: string | undefined, to: Writable): Format {
  const format = FORMATS.find(known => known === name) ?? (name === undefined ? defaultFormat(to) : undefined)
  if (format === undefined) {
    throw new ConvohouseError('FLAG_INVALID', {
      what: `There is no format "${name}".`,
      hint: `Give one of ${FORMATS.join(', ')}.`,
    })
  }
  if (BINARY.has(format) && isTerminal(to)) {
    throw new ConvohouseError('FLAG_INVALID', {
      what: `The format ${format} is binary, and this is a terminal.`,
      hint: 'Write it to a file with -o FILE, or pipe it.',
    })
  }
  return format
}

const defaultFormat = (to: Writable): Format => (isTerminal(to) ? 'table' : 'csv')

/** The answer in that format, piece by piece. */
export async function* formatted(
  result: QueryResult,
  format: RowFormat,
  options: TableOptions = {},
): AsyncGenerator<string | Uint8Array> {
  if (format === 'table') yield* table(result, options)
  else yield* encode(result, format)
}

/** How a table is to be drawn on that stream. NO_COLOR (no-color.org) is told by the stream itself. */
export function tableOptions(to: Writable): TableOptions {
  return isTerminal(to) ? { width: to.columns, color: to.hasColors() } : {}
}

function isTerminal(to: Writable): to is WriteStream {
  return (to as Partial<WriteStream>).isTTY === true
}
