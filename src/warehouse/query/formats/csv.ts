// RFC 4180: a header, CRLF, quotes where they are needed. NULL is empty, the empty text is `""`, so that a reader that
// cares can tell them apart. Times and nested values are as in JSON.

import type { Cell, QueryResult } from '../results.ts'
import { textWriter } from './cell-text.ts'

const LINE_END = '\r\n'

/** One piece of text a batch, the header first. */
export async function* csv(result: QueryResult): AsyncGenerator<string> {
  const fields = result.columns.map(({ shape }) => {
    const write = textWriter(shape)
    return (cell: Cell) => (cell === null ? '' : field(write(cell)))
  })
  yield line(result.columns.map(({ name }) => field(name)))
  for await (const { rows, columns } of result.batches) {
    let text = ''
    for (let row = 0; row < rows; row++) text += line(fields.map((write, at) => write(columns[at]![row]!)))
    yield text
  }
}

/** One field: quoted where it is empty or holds a comma, a quote, a line break, or a space at its edge. */
export function field(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const line = (fields: string[]) => fields.join(',') + LINE_END
