// Rows as CSV (RFC 4180): a header, CRLF, quotes where needed. NULL is empty and the empty text is `""`, so that
// readers can distinguish them; in a single column, both are `""`, because readers skip empty lines. Times and nested values are written as in JSON.

import { withoutFormula } from '../../../core/spreadsheet.ts'
import type { Cell, QueryResult, Shape } from '../results.ts'
import { dateText, floatText, jsonWriter, timestampText, type Writer } from './json.ts'

const LINE_END = '\r\n'

/** Yields the header, then one text per batch. For Excel, a byte order mark comes first, and texts that it would compute are marked. */
export async function* csv(result: QueryResult, isForExcel = false): AsyncGenerator<string> {
  const fieldOf = isForExcel ? (text: string) => field(withoutFormula(text)) : field
  const nothing = result.columns.length === 1 ? '""' : ''
  const fields = result.columns.map(({ shape }) => {
    const write = textWriter(shape)
    const toField = NUMBERS.has(shape.kind) ? field : fieldOf
    return (cell: Cell) => (cell === null ? nothing : toField(write(cell)))
  })
  yield (isForExcel ? '\ufeff' : '') + line(result.columns.map(({ name }) => fieldOf(name)))
  for await (const { rows, columns } of result.batches) {
    let text = ''
    for (let row = 0; row < rows; row++) text += line(fields.map((write, at) => write(columns[at]![row]!)))
    yield text
  }
}

const NUMBERS: ReadonlySet<string> = new Set(['integer', 'float', 'decimal'])

/** Returns one field, quoted if it is empty or contains a comma, a quote, a line break, or a space at its edge. */
function field(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const line = (fields: string[]) => fields.join(',') + LINE_END

/** Returns the writer of plain text for cells of a shape, for CSV and tables; NULL is empty. Nested values and JSON columns are JSON. */
export function textWriter(shape: Shape): Writer {
  const write = writerOf(shape)
  return cell => (cell === null ? '' : write(cell))
}

function writerOf(shape: Shape): Writer {
  switch (shape.kind) {
    case 'float':
      return cell => floatText(cell as number)
    case 'timestamp':
      return cell => timestampText(cell as bigint, shape)
    case 'date':
      return cell => dateText(cell as number)
    case 'json':
    case 'list':
    case 'struct':
    case 'map':
      return jsonWriter(shape)
    default:
      return String
  }
}
