// Cells as plain text, for tables and CSV.

import type { Shape } from '../results.ts'
import { floatText, jsonWriter, type Writer } from './json-text.ts'
import { dateText, timestampText } from './time-text.ts'

/** The writer for cells of a shape; NULL is empty. Nested values and JSON columns are JSON. */
export function textWriter(shape: Shape): Writer {
  const write = writerOf(shape)
  return cell => (cell === null ? '' : write(cell))
}

function writerOf(shape: Shape): Writer {
  switch (shape.kind) {
    case 'float':
      return cell => floatText(cell as number, shape.bits)
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
