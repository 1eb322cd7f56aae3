// The Arrow IPC stream format, as pandas, polars and DuckDB read it.

import { AsyncByteQueue, Field, makeData, RecordBatch, RecordBatchStreamWriter, Schema, Struct } from 'apache-arrow'
import type { Batch, QueryResult } from '../../warehouse/results.ts'
import { type ArrowColumn, arrowColumn } from './arrow-columns.ts'

/**
 * Bytes: the schema, then a piece a record batch, then the end mark. DuckDB's own type of a column is in its field's
 * metadata.
 */
export async function* arrow(result: QueryResult): AsyncGenerator<Uint8Array> {
  const columns = result.columns.map(({ shape }) => arrowColumn(shape))
  const fields = result.columns.map(({ name, type }, at) => {
    return new Field(name, columns[at]!.type, true, new Map([['duckdb_type', type]]))
  })
  const schema = new Schema(fields)
  const pieces = new Pieces()
  const writer = new RecordBatchStreamWriter().reset(pieces, schema)
  yield pieces.take()
  for await (const batch of result.batches) {
    writer.write(recordBatch(schema, columns, batch))
    yield pieces.take()
  }
  writer.finish()
  yield pieces.take()
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
