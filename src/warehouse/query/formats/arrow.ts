// Arrow IPC, as pandas, polars and DuckDB read it: as a stream, or as a file, which is one with an index behind it.

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
import type { Batch, QueryResult } from '../results.ts'
import { type ArrowColumn, arrowColumn } from './arrow-columns.ts'

/**
 * Bytes: the schema, then a piece a record batch, then the end mark. DuckDB's own type of a column is in its field's
 * metadata. Readers that seek (`read_feather`) want a file, those of a pipe a stream.
 */
export async function* arrow(result: QueryResult, as: 'file' | 'stream'): AsyncGenerator<Uint8Array> {
  const columns = result.columns.map(({ shape }) => arrowColumn(shape))
  const fields = result.columns.map(({ name, type }, at) => {
    return new Field(name, columns[at]!.type, true, new Map([['duckdb_type', type]]))
  })
  const schema = new Schema(fields)
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

/** Each record batch has a head of some hundred bytes a column; fewer cells than these in one are not worth it. */
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
 * What the writer wrote, to be taken at once: its own streams run ahead of their reader, and turn an error of the
 * query into an unhandled rejection.
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
