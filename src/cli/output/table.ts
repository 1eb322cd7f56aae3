// Rows for people, on a terminal.

import stringWidth from 'string-width'
import { textWriter } from '../../warehouse/query/formats/cell-text.ts'
import type { Batch, Column, QueryResult, Tally } from '../../warehouse/query/results.ts'
import { GAP, layOut } from './table-layout.ts'

export interface TableOptions {
  /** Width of the terminal in cells; undefined where it is none: nothing is cut then. */
  width?: number | undefined
  /** Whether NULL may be dimmed and the header be bold. */
  color?: boolean
}

/** The widths come from this many rows: the rest is streamed under them. */
const MEASURED_ROWS = 1_000

const NULL = 'NULL'

interface Cut {
  text: string
  isNull: boolean
}

/** Header, rule, rows and a closing line with their count; each piece of text is whole lines. */
export async function* table(result: QueryResult, options: TableOptions = {}): AsyncGenerator<string> {
  const read = rowReader(result.columns)
  const first: Cut[][] = []
  const batches = result.batches[Symbol.asyncIterator]()
  try {
    let next = await batches.next()
    for (; !next.done; next = await batches.next()) {
      first.push(...read(next.value))
      if (first.length >= MEASURED_ROWS) break
    }
    const { draw, head, hidden } = drawing(result.columns, first, options)
    yield head + first.map(draw).join('')
    if (!next.done) {
      for (next = await batches.next(); !next.done; next = await batches.next())
        yield read(next.value).map(draw).join('')
    }
    yield footer(result.tally(), hidden)
  } finally {
    await batches.return?.()
  }
}

function rowReader(columns: Column[]): (batch: Batch) => Cut[][] {
  const writers = columns.map(({ shape }) => textWriter(shape))
  return ({ rows, columns }) =>
    Array.from({ length: rows }, (_, row) =>
      writers.map((write, at) => {
        const cell = columns[at]![row]!
        return cell === null ? { text: NULL, isNull: true } : { text: visible(write(cell)), isNull: false }
      }),
    )
}

function drawing(columns: Column[], rows: Cut[][], { width, color = false }: TableOptions) {
  const rights = columns.map(({ shape }) => /^(integer|float|decimal)$/.test(shape.kind))
  const names = columns.map(({ name }) => visible(name))
  const measured = names.map((name, at) => ({
    natural: rows.reduce((widest, row) => Math.max(widest, widthOf(row[at]!.text)), Math.max(1, widthOf(name))),
    rigid: rights[at]!,
  }))
  const { widths, hidden } = layOut(measured, width)
  const style = (code: string, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
  const place = (text: string, at: number) =>
    align(rights[at] ? text : cut(text, widths[at]!), widths[at]!, rights[at]!)
  const line = (cells: string[]) => `${cells.join(' '.repeat(GAP)).trimEnd()}\n`
  const head =
    line(widths.map((_, at) => style('1', place(names[at]!, at)))) + line(widths.map(width => '─'.repeat(width)))
  const draw = (row: Cut[]) =>
    line(widths.map((_, at) => (row[at]!.isNull ? style('2', place(NULL, at)) : place(row[at]!.text, at))))
  return { head, draw, hidden }
}

function footer({ rows, truncated }: Tally, hidden: number): string {
  const count = `${rows.toLocaleString('en-US')} ${rows === 1 ? 'row' : 'rows'}`
  const notes = [
    truncated ? 'there are more: raise the limit of rows' : '',
    hidden > 0
      ? `${hidden} more ${hidden === 1 ? 'column' : 'columns'}: widen the terminal, or take another format`
      : '',
  ].filter(Boolean)
  return `(${[count, ...notes].join('; ')})\n`
}

/**
 * Text on one line that a terminal shows as it is. People's messages are in these cells: an escape sequence in one of
 * them must not move the cursor or set colours, nor an override of direction reorder the line.
 */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, character => {
    if (character === '\n') return '\\n'
    if (character === '\r') return '\\r'
    if (character === '\t') return '\\t'
    return `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`
  })
}

/** The text, or as much of it as fits with an ellipsis; never half of a character. */
export function cut(text: string, width: number): string {
  // No character is wider than its UTF-16 units times two, so short text needs no measuring.
  if (text.length * 2 <= width || widthOf(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += widthOf(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** Plain ASCII is as wide as it is long; measuring it anyway costs 10 µs a cell. The text has no control characters. */
function widthOf(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text)
}

const GRAPHEMES = new Intl.Segmenter()

function align(text: string, width: number, right: boolean): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(text)))
  return right ? padding + text : text + padding
}
