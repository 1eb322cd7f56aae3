// Batches as bytes, for the holder's socket: JSON, column by column. What JSON has no word for (64-bit integers, NaN,
// infinities, minus zero) travels as text and is turned back by the column's shape.

import type { Batch, Cell, Column, Shape } from '../results.ts'

/** A batch as UTF-8 JSON. */
export function encodeBatch(batch: Batch): Buffer {
  return Buffer.from(JSON.stringify(batch.columns, asJson))
}

/** The batch that `encodeBatch` wrote, given the columns that it was written under. */
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

/** Undefined where a cell of that shape is what JSON says it is: most columns are left alone. */
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
