// The lossless format of convohouse's own client: NDJSON, column by column, preceded by the shapes of all columns.
//
//   {"columns":[{"name":"n","type":"BIGINT","shape":{…}}]}
//   [["1","2"]]                                    a batch: a list of cells for each column
//   {"end":{"rows":2,"truncated":false}}           or {"error":{"code":…,"what":…,"hint":…}}; neither: the answer was cut off
//
// JSON has no 64-bit integers, NaN, infinities or minus zero: they are written as text, and `decodeBatch` restores them by the shape.

import type { Batch, Cell, Column, QueryResult, Shape, Tally } from '../results.ts'

export const CELLS_MEDIA_TYPE = 'application/vnd.convohouse.cells+ndjson'

/** An error as clients see it: its stable code, what is wrong, what to do. */
export interface ErrorBody {
  code: string
  what: string
  hint?: string
}

export type CellsLine = { columns: Column[] } | { batch: Uint8Array } | { end: Tally } | { error: ErrorBody }

/** Yields a line for the columns, a line per batch, and a line for the end. @throws the query's failure */
export async function* cells(result: QueryResult): AsyncGenerator<Buffer> {
  yield encodeLine({ columns: result.columns })
  for await (const batch of result.batches) yield encodeBatch(batch)
  yield encodeLine({ end: result.tally() })
}

export const encodeLine = (line: Exclude<CellsLine, { batch: Uint8Array }>): Buffer =>
  Buffer.from(`${JSON.stringify(line)}\n`)

/** A batch as one line of UTF-8 JSON. */
export function encodeBatch(batch: Batch): Buffer {
  return Buffer.from(`${JSON.stringify(batch.columns, asJson)}\n`)
}

/** Splits pieces of bytes into lines; drops an incomplete last line. A batch stays bytes, because `decodeBatch` needs its columns. */
export async function* readLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<CellsLine> {
  let held: Buffer[] = []
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      const last = piece.subarray(from, end)
      // Joined once per line, so that a long line is not copied with each piece.
      const line = held.length === 0 ? last : Buffer.concat([...held, last])
      yield line[0] === BRACKET ? { batch: line } : (JSON.parse(line.toString()) as CellsLine)
      held = []
      from = end + 1
    }
    if (from < piece.length) held.push(piece.subarray(from))
  }
}

const NEWLINE = '\n'.charCodeAt(0)
const BRACKET = '['.charCodeAt(0)

/** Decodes a batch that `encodeBatch` wrote, given the columns of its result. */
export function decodeBatch(bytes: Uint8Array, columns: Column[]): Batch {
  const cells = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as Cell[][]
  for (const [at, column] of columns.entries()) {
    const revive = reviverFor(column.shape)
    if (revive) cells[at] = cells[at]!.map(cell => (cell === null ? null : revive(cell)))
  }
  return { rows: cells[0]?.length ?? 0, columns: cells }
}

function asJson(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (Object.is(value, -0)) return '-0'
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
}

type Revive = (cell: Exclude<Cell, null>) => Cell

/** Undefined when JSON represents cells of the shape exactly, as it does for most columns. */
function reviverFor(shape: Shape): Revive | undefined {
  switch (shape.kind) {
    case 'timestamp':
      return cell => BigInt(cell as string)
    case 'integer':
      return shape.bits >= 64 ? cell => BigInt(cell as string) : undefined
    case 'float':
      return cell => Number(cell)
    case 'list':
      return each(reviverFor(shape.item))
    case 'struct':
      return inOrder(shape.fields.map(field => reviverFor(field.shape)))
    case 'map':
      return each(inOrder([reviverFor(shape.key), reviverFor(shape.value)]))
    default:
      return undefined
  }
}

const each = (revive: Revive | undefined): Revive | undefined =>
  revive && (cells => (cells as Cell[]).map(cell => (cell === null ? null : revive(cell))))

const inOrder = (revivers: (Revive | undefined)[]): Revive | undefined =>
  revivers.some(Boolean)
    ? cells => (cells as Cell[]).map((cell, at) => (cell === null ? null : (revivers[at]?.(cell) ?? cell)))
    : undefined
