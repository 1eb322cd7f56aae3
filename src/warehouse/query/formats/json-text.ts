// Cells as JSON text, by a writer compiled once a column.

import type { Cell, Shape } from '../results.ts'
import { dateText, timestampText } from './time-text.ts'

export type Writer = (cell: Cell) => string

/** Decimal digits that a double, which is what most readers make of a JSON number, holds without loss. */
const SAFE_DIGITS = 15

/**
 * The writer for cells of a shape. Numbers are JSON numbers as long as a double holds them: integers beyond 2^53,
 * decimals of more than 15 digits, NaN and infinities are strings. Times are ISO-8601, blobs base64, JSON columns the JSON they
 * hold, structs and maps with text keys objects, other maps lists of `{"key": …, "value": …}`.
 */
export function jsonWriter(shape: Shape): Writer {
  const write = writerOf(shape)
  return cell => (cell === null ? 'null' : write(cell))
}

function writerOf(shape: Shape): Writer {
  switch (shape.kind) {
    case 'boolean':
      return String
    case 'integer':
      return shape.bits < 64 ? String : cell => wideInteger(cell as bigint)
    case 'float':
      return cell => (Number.isFinite(cell) ? floatText(cell as number, shape.bits) : `"${cell}"`)
    case 'decimal':
      return shape.width <= SAFE_DIGITS ? cell => cell as string : quoted
    case 'timestamp':
      return cell => `"${timestampText(cell as bigint, shape)}"`
    case 'date':
      return cell => `"${dateText(cell as number)}"`
    case 'json':
      return cell => jsonColumn(cell as string)
    case 'list':
      return listWriter(jsonWriter(shape.item))
    case 'struct':
      return structWriter(shape.fields)
    case 'map':
      return mapWriter(shape)
    default:
      return quoted
  }
}

/** The shortest text that is that number, in 32 bits or 64; minus zero has its sign. */
export function floatText(value: number, bits: 32 | 64): string {
  if (Object.is(value, -0)) return '-0'
  if (bits === 64 || !Number.isFinite(value)) return String(value)
  // Nine digits tell every float of 32 bits from its neighbours; most need fewer.
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(Number(value.toPrecision(9)))
}

const quoted: Writer = cell => JSON.stringify(cell)

function wideInteger(value: bigint): string {
  const safe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
  return safe ? String(value) : `"${value}"`
}

/** The column's own text, so that its numbers keep every digit; on one line, since a line may be a record. */
function jsonColumn(text: string): string {
  try {
    JSON.parse(text)
    // In valid JSON a bare line break stands between tokens only.
    return text.replace(/[\r\n]+\s*/g, ' ')
  } catch {
    // DuckDB takes NaN and the like for JSON, which nobody else reads.
    return JSON.stringify(text)
  }
}

const listWriter =
  (item: Writer): Writer =>
  cell =>
    `[${(cell as Cell[]).map(item).join(',')}]`

function structWriter(fields: { name: string; shape: Shape }[]): Writer {
  const writers = fields.map(({ name, shape }) => ({ key: JSON.stringify(name), write: jsonWriter(shape) }))
  return cell => `{${writers.map(({ key, write }, at) => `${key}:${write((cell as Cell[])[at]!)}`).join(',')}}`
}

function mapWriter({ key, value }: Extract<Shape, { kind: 'map' }>): Writer {
  const [writeKey, writeValue] = [jsonWriter(key), jsonWriter(value)]
  const pairs = (cell: Cell) => cell as [Cell, Cell][]
  return key.kind === 'text'
    ? cell => `{${pairs(cell).map(([k, v]) => `${writeKey(k)}:${writeValue(v)}`)}}`
    : cell => `[${pairs(cell).map(([k, v]) => `{"key":${writeKey(k)},"value":${writeValue(v)}}`)}]`
}
