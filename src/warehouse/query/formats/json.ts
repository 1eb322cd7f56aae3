// Rows as JSON objects, streamed: one array with a row per line, or NDJSON.

import { ConvohouseError } from '../../../core/errors.ts'
import { type Batch, type Cell, type Column, type QueryResult, type Shape, uniqueNames } from '../results.ts'

/** Yields one JSON array, one text per batch. If the query fails halfway, the array stays open, so half an answer is not valid JSON. */
export async function* json(result: QueryResult): AsyncGenerator<string> {
  const write = rowWriter(result.columns)
  let before = '[\n'
  for await (const batch of result.batches) {
    yield before + write(batch).join(',\n')
    before = ',\n'
  }
  yield before === '[\n' ? '[]\n' : '\n]\n'
}

/** Yields one JSON object per line, one text per batch. */
export async function* ndjson(result: QueryResult): AsyncGenerator<string> {
  const write = rowWriter(result.columns)
  for await (const batch of result.batches) {
    const lines = write(batch)
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
}

/** Turns a batch into one JSON object per row. A repeated column name gets a number, since an object has each key once. */
function rowWriter(columns: Column[]): (batch: Batch) => string[] {
  const names = uniqueNames(columns.map(({ name }) => name))
  const fields = columns.map(({ shape }, at) => ({ key: JSON.stringify(names[at]), write: jsonWriter(shape) }))
  return ({ rows, columns }) =>
    Array.from({ length: rows }, (_, row) => {
      return `{${fields.map(({ key, write }, at) => `${key}:${write(columns[at]![row]!)}`).join(',')}}`
    })
}

/** Writes a cell as text. It is compiled once per column. */
export type Writer = (cell: Cell) => string

/** Decimal digits that a double holds without loss. Most readers parse a JSON number as a double. */
const SAFE_DIGITS = 15

/**
 * Returns the JSON writer for cells of a shape. A number that a double cannot hold exactly is a string: an integer
 * beyond 2^53, a decimal of more than 15 digits, NaN, an infinity. Times are ISO-8601 and blobs base64. JSON columns
 * are embedded as JSON. Structs and maps with text keys are objects; other maps are lists of `{"key": …, "value": …}`.
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
      return cell => (Number.isFinite(cell) ? floatText(cell as number) : `"${cell}"`)
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

/** Returns the shortest text that reads back as the same number; minus zero keeps its sign. */
export const floatText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))

const quoted: Writer = cell => JSON.stringify(cell)

function wideInteger(value: bigint): string {
  const safe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
  return safe ? String(value) : `"${value}"`
}

/** Returns the stored JSON, so that numbers keep every digit, on one line, since a line is a record in NDJSON. */
function jsonColumn(text: string): string {
  try {
    JSON.parse(text)
    // In valid JSON a bare line break occurs only between tokens.
    return text.replace(/[\r\n]+\s*/g, ' ')
  } catch {
    // DuckDB accepts NaN and infinities as JSON; other readers do not.
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

/** DuckDB's infinities are the largest values of 64 bits, and of 32 bits for a date. */
const INFINITY = 2n ** 63n - 1n
const INFINITE_DAY = 2 ** 31 - 1

const DAY_MS = 86_400_000

/**
 * Returns `2026-11-20T20:49:46.123Z` for microseconds since the epoch; without `Z` if the shape has no zone. Years
 * before 0 (1 BC) and after 9999 have a sign and six digits. @throws SQL_INVALID outside of JavaScript's calendar
 */
export function timestampText(micros: bigint, { zone }: Extract<Shape, { kind: 'timestamp' }>): string {
  if (micros === INFINITY) return 'infinity'
  if (micros === -INFINITY) return '-infinity'
  const rest = ((micros % 1_000n) + 1_000n) % 1_000n
  const text = calendarText(Number((micros - rest) / 1_000n)).slice(0, -1)
  return `${text}${rest === 0n ? '' : String(rest).padStart(3, '0')}${zone ? 'Z' : ''}`
}

/** Returns `2026-11-20` for days since the epoch. @throws SQL_INVALID outside of JavaScript's calendar */
export function dateText(days: number): string {
  if (days === INFINITE_DAY) return 'infinity'
  if (days === -INFINITE_DAY) return '-infinity'
  return calendarText(days * DAY_MS).replace(/T.*/, '')
}

function calendarText(ms: number): string {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime()))
    throw new ConvohouseError('SQL_INVALID', {
      what: 'The result has a time outside of the years -271821 to 275760.',
      hint: 'Cast it: column::VARCHAR.',
    })
  return date.toISOString()
}
