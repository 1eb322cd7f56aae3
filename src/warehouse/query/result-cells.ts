// DuckDB's values as cells, by a reader compiled once a column.

import type {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampValue,
  DuckDBValue,
} from '@duckdb/node-api'
import type { Batch, Cell, Column, Shape, TimestampUnit } from './results.ts'

/**
 * Turning values into JavaScript blocks the event loop: 20,000 wide rows in one piece took 4.2 s, some 1.4 µs a cell.
 * At that rate 8,192 cells are 12 ms, after which the holder gets to do its own work; a whole chunk of DuckDB's (2,048
 * rows, of 150 columns say) would be 430 ms.
 */
const CELLS_A_BATCH = 8_192

type Present = Exclude<DuckDBValue, null>
type Reader = (value: Present) => Cell

/** Cuts a chunk into batches of a bounded number of cells. */
export function* batchesOf(chunk: DuckDBDataChunk, columns: Column[]): Generator<Batch> {
  const readers = columns.map(column => readerFor(column.shape))
  const rowsABatch = Math.max(1, Math.floor(CELLS_A_BATCH / Math.max(1, columns.length)))
  for (let from = 0; from < chunk.rowCount; from += rowsABatch) {
    const rows = Math.min(rowsABatch, chunk.rowCount - from)
    yield { rows, columns: readers.map((reader, at) => readColumn({ chunk, at, reader, from, rows })) }
  }
}

function readColumn(slice: { chunk: DuckDBDataChunk; at: number; reader: Reader; from: number; rows: number }): Cell[] {
  const vector = slice.chunk.getColumnVector(slice.at)
  return Array.from({ length: slice.rows }, (_, row) => nullable(slice.reader, vector.getItem(slice.from + row)))
}

const nullable = (reader: Reader, value: DuckDBValue): Cell => (value === null ? null : reader(value))

const TICKS: Record<TimestampUnit, Reader> = {
  s: value => (value as DuckDBTimestampSecondsValue).seconds,
  ms: value => (value as DuckDBTimestampMillisecondsValue).millis,
  us: value => (value as DuckDBTimestampValue).micros,
  ns: value => (value as DuckDBTimestampNanosecondsValue).nanos,
}

function readerFor(shape: Shape): Reader {
  switch (shape.kind) {
    case 'boolean':
    case 'integer':
    case 'float':
      return value => value as boolean | number | bigint
    case 'timestamp':
      return TICKS[shape.unit]
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
    (value as DuckDBListValue | DuckDBArrayValue).items.map(element => nullable(item, element))

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
