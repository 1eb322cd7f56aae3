// Converts DuckDB's types to shapes, and its values to cells by a reader that is compiled once per column.

import {
  type DuckDBBlobValue,
  type DuckDBDataChunk,
  type DuckDBDateValue,
  type DuckDBDecimalType,
  type DuckDBListType,
  type DuckDBListValue,
  type DuckDBMapType,
  type DuckDBMapValue,
  type DuckDBStructType,
  type DuckDBStructValue,
  type DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from '@duckdb/node-api'
import type { Batch, Cell, Column, RawBatch, Shape } from './results.ts'
import { rawColumn } from './vectors.ts'

const SCALARS: Partial<Record<DuckDBTypeId, Shape>> = {
  [DuckDBTypeId.BOOLEAN]: { kind: 'boolean' },
  [DuckDBTypeId.INTEGER]: { kind: 'integer', bits: 32 },
  [DuckDBTypeId.BIGINT]: { kind: 'integer', bits: 64 },
  [DuckDBTypeId.DOUBLE]: { kind: 'float' },
  [DuckDBTypeId.TIMESTAMP]: { kind: 'timestamp', zone: false },
  [DuckDBTypeId.TIMESTAMP_TZ]: { kind: 'timestamp', zone: true },
  [DuckDBTypeId.DATE]: { kind: 'date' },
  [DuckDBTypeId.BLOB]: { kind: 'blob' },
}

const JSON_ALIAS = 'JSON'

/** Returns the shape of a column, whose DuckDB type is one that results can have (casts.ts). */
export function shapeOf(type: DuckDBType): Shape {
  const scalar = SCALARS[type.typeId]
  if (scalar) return scalar
  switch (type.typeId) {
    case DuckDBTypeId.DECIMAL: {
      const { width, scale } = type as DuckDBDecimalType
      return { kind: 'decimal', width, scale }
    }
    case DuckDBTypeId.LIST:
      return { kind: 'list', item: shapeOf((type as DuckDBListType).valueType) }
    case DuckDBTypeId.STRUCT:
      return { kind: 'struct', fields: structFields(type as DuckDBStructType) }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType
      return { kind: 'map', key: shapeOf(keyType), value: shapeOf(valueType) }
    }
    default:
      return { kind: type.alias === JSON_ALIAS ? 'json' : 'text' }
  }
}

/** Returns DuckDB's own name of the type, including JSON (which is VARCHAR under an alias). */
export function typeName(type: DuckDBType): string {
  return type.alias ?? type.toString()
}

const structFields = (type: DuckDBStructType) =>
  type.entryNames.map((name, at) => ({ name, shape: shapeOf(type.entryTypes[at]!) }))

/**
 * Converting values blocks the event loop: 20,000 wide rows at once took 4.2 s, about 1.4 µs per cell. A batch of 8,192 cells
 * takes 12 ms, after which the process does other work; one chunk of DuckDB's (2,048 rows of 150 columns) would take 430 ms.
 */
const CELLS_A_BATCH = 8_192

type Present = Exclude<DuckDBValue, null>
type Reader = (value: Present) => Cell

/** Cuts the first rows of a chunk into batches of a bounded number of cells. */
export function* batchesOf(chunk: DuckDBDataChunk, columns: Column[], rowCount: number): Generator<Batch> {
  const readers = columns.map(column => readerFor(column.shape))
  const rowsABatch = Math.max(1, Math.floor(CELLS_A_BATCH / Math.max(1, columns.length)))
  for (let from = 0; from < rowCount; from += rowsABatch) {
    const rows = Math.min(rowsABatch, rowCount - from)
    yield { rows, columns: readers.map((reader, at) => readColumn({ chunk, at, reader, from, rows })) }
  }
}

/** Returns the first rows of a chunk as one batch: copying takes little time. */
export const rawBatchOf = (chunk: DuckDBDataChunk, columns: Column[], rows: number): RawBatch => ({
  rows,
  columns: columns.map(
    ({ shape }, at) => rawColumn(chunk, at, rows) ?? readColumn({ chunk, at, reader: readerFor(shape), from: 0, rows }),
  ),
})

function readColumn(slice: { chunk: DuckDBDataChunk; at: number; reader: Reader; from: number; rows: number }): Cell[] {
  const vector = slice.chunk.getColumnVector(slice.at)
  return Array.from({ length: slice.rows }, (_, row) => nullable(slice.reader, vector.getItem(slice.from + row)))
}

const nullable = (reader: Reader, value: DuckDBValue): Cell => (value === null ? null : reader(value))

function readerFor(shape: Shape): Reader {
  switch (shape.kind) {
    case 'boolean':
    case 'integer':
    case 'float':
      return value => value as boolean | number | bigint
    case 'timestamp':
      return value => (value as DuckDBTimestampValue).micros
    case 'date':
      return value => (value as DuckDBDateValue).days
    case 'blob':
      return value => Buffer.from((value as DuckDBBlobValue).bytes).toString('base64')
    case 'list':
      return listReader(readerFor(shape.item))
    case 'struct':
      return structReader(shape.fields.map(({ name, shape }) => ({ name, reader: readerFor(shape) })))
    case 'map':
      return mapReader(readerFor(shape.key), readerFor(shape.value))
    default:
      return value => value.toString()
  }
}

const listReader =
  (item: Reader): Reader =>
  value =>
    (value as DuckDBListValue).items.map(element => nullable(item, element))

const structReader =
  (fields: { name: string; reader: Reader }[]): Reader =>
  value => {
    const { entries } = value as DuckDBStructValue
    return fields.map(({ name, reader }) => nullable(reader, entries[name] ?? null))
  }

const mapReader =
  (keys: Reader, values: Reader): Reader =>
  value =>
    (value as DuckDBMapValue).entries.map(({ key, value }) => [nullable(keys, key), nullable(values, value)])
