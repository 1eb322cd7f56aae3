// Arrow IPC for pandas, Polars and DuckDB: as a stream, or as a file, which is a stream with an index at its end.

import {
  AsyncByteQueue,
  Field,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  Schema,
  Struct,
} from 'apache-arrow'
import { type Batch, type QueryResult, uniqueNames } from '../results.ts'
import { type ArrowColumn, arrowColumn } from './arrow-columns.ts'
import { PANDAS_KEY, pandasMetadata } from './pandas-metadata.ts'

/**
 * Yields the schema, the record batches and the end mark. The metadata of a field holds DuckDB's type, that of the schema
 * what pandas needs. Readers that seek (`read_feather`)
 * need a file, readers of a pipe a stream.
 */
export async function* arrow(result: QueryResult, as: 'file' | 'stream'): AsyncGenerator<Uint8Array> {
  const names = uniqueNames(result.columns.map(({ name }) => name))
  const named = result.columns.map((column, at) => ({ ...column, name: names[at]! }))
  const columns = named.map(({ shape }) => arrowColumn(shape))
  const fields = named.map(({ name, type }, at) => {
    return new Field(name, columns[at]!.type, true, new Map([['duckdb_type', type]]))
  })
  const schema = new Schema(fields, new Map([[PANDAS_KEY, pandasMetadata(named)]]))
  const pieces = new Pieces()
  const writer = (as === 'file' ? new RecordBatchFileWriter() : new RecordBatchStreamWriter()).reset(pieces, schema)
  yield pieces.take()
  for await (const batch of gathered(result.batches)) {
    writer.write(recordBatch(schema, columns, batch))
    yield pieces.take()
  }
  writer.finish()
  yield pieces.take()
}

/** Minimum number of cells in a record batch, since the head of each batch takes some hundred bytes per column. */
const CELLS_A_BATCH = 65_536

/** The same rows in fewer batches. */
async function* gathered(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  let held: Batch[] = []
  let cells = 0
  for await (const batch of batches) {
    held.push(batch)
    cells += batch.rows * batch.columns.length
    if (cells < CELLS_A_BATCH) continue
    yield joined(held)
    held = []
    cells = 0
  }
  if (held.length > 0) yield joined(held)
}

function joined(batches: Batch[]): Batch {
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0)
  const first = batches[0]!
  return { rows, columns: first.columns.map((_, at) => batches.flatMap(({ columns }) => columns[at]!)) }
}

function recordBatch(schema: Schema, columns: ArrowColumn[], batch: Batch): RecordBatch {
  const children = columns.map((column, at) => column.data(batch.columns[at]!))
  const type = new Struct(schema.fields)
  return new RecordBatch(schema, makeData({ type, length: batch.rows, nullCount: 0, children }))
}

/**
 * Collects the bytes that the writer writes, so that they can be read synchronously: the writer's own streams run ahead of their reader, and
 * turn an error of the query into an unhandled rejection.
 */
class Pieces extends AsyncByteQueue {
  private written: Uint8Array[] = []

  override write(piece: ArrayBufferView): void {
    this.written.push(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength))
  }

  take(): Uint8Array {
    const taken = Buffer.concat(this.written)
    this.written = []
    return taken
  }
}
