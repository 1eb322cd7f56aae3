// A query result as a table on a terminal.
import { counted } from '../../core/words.ts'
import { textWriter } from '../../warehouse/query/formats/csv.ts'
import type { Batch, Column, QueryResult, Tally } from '../../warehouse/query/results.ts'
import { align, cut, GAP, layOut, widthOf } from '../terminal/columns.ts'
import { visible } from '../terminal/controls.ts'

export interface TableOptions {
  /** Width of the terminal in cells; undefined without a terminal, so that nothing is cut. */
  width?: number | undefined
  /** If true, NULL is dimmed and the header is bold. */
  color?: boolean
}

/** Number of first rows that determine column widths; later rows are streamed with the same widths. */
const MEASURED_ROWS = 1_000

const NULL = 'NULL'

interface Cell {
  text: string
  isNull: boolean
}

/** Yields header, rule, rows and a closing line with their count. Each piece of text consists of complete lines. */
export async function* table(result: QueryResult, options: TableOptions = {}): AsyncGenerator<string> {
  const read = rowReader(result.columns)
  const first: Cell[][] = []
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

/** Returns a function that reads the rows of a batch as texts on one line each. */
export function rowReader(columns: Column[]): (batch: Batch) => Cell[][] {
  const writers = columns.map(({ shape }) => textWriter(shape))
  return ({ rows, columns }) =>
    Array.from({ length: rows }, (_, row) =>
      writers.map((write, at) => {
        const cell = columns[at]![row]!
        return cell === null ? { text: NULL, isNull: true } : { text: visible(write(cell)), isNull: false }
      }),
    )
}

function drawing(columns: Column[], rows: Cell[][], { width, color = false }: TableOptions) {
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
  const draw = (row: Cell[]) =>
    line(widths.map((_, at) => (row[at]!.isNull ? style('2', place(NULL, at)) : place(row[at]!.text, at))))
  return { head, draw, hidden }
}

function footer({ rows, truncated }: Tally, hidden: number): string {
  const count = counted(rows, 'row')
  const notes = [
    truncated ? 'there are more: raise the row limit' : '',
    hidden > 0 ? `${counted(hidden, 'more column')}: widen the terminal or choose another format` : '',
  ].filter(Boolean)
  return `(${[count, ...notes].join('; ')})\n`
}
