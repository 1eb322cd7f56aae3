// Arrow IPC for pandas, Polars and DuckDB: as a stream, or as a file, which is a stream with an index at its end.
import {
  AsyncByteQueue,
  Binary,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  Map_,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Timestamp,
  TimeUnit,
  Utf8,
} from 'apache-arrow'
import {
  type Batch,
  type Cell,
  type QueryResult,
  type RawBatch,
  type RawColumn,
  type Shape,
  uniqueNames,
} from '../results.ts'
import { PANDAS_KEY, pandasMetadata } from './pandas-metadata.ts'

/**
 * Yields the schema, the record batches and the end mark. A field's metadata contains DuckDB's type, the schema's
 * contains pandas' metadata. Readers that seek (`read_feather`) need a file, readers of a pipe a stream.
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
  for await (const batch of result.rawBatches?.() ?? gathered(result.batches)) {
    writer.write(recordBatch(schema, columns, batch))
    yield pieces.take()
  }
  writer.finish()
  yield pieces.take()
}

/** Minimum number of cells in a record batch, since each batch's head takes some hundred bytes per column. */
const CELLS_A_BATCH = 65_536

/** Yields the same rows in fewer batches. */
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

function recordBatch(schema: Schema, columns: ArrowColumn[], batch: RawBatch): RecordBatch {
  const children = columns.map((column, at) => {
    const values = batch.columns[at]!
    return Array.isArray(values) ? column.data(values) : rawData(column.type, batch.rows, values)
  })
  const type = new Struct(schema.fields)
  return new RecordBatch(schema, makeData({ type, length: batch.rows, nullCount: 0, children }))
}

const rawData = (type: DataType, length: number, { values, nulls, offsets }: RawColumn): Data =>
  makeData({
    ...{ type, length, data: values, nullCount: nulls ? -1 : 0 },
    ...(nulls && { nullBitmap: nulls }),
    ...(offsets && { valueOffsets: offsets }),
  } as never)

/**
 * Collects the bytes that the writer writes, so that they can be read synchronously: the writer's own streams run ahead
 * of their reader, and turn an error of the query into an unhandled rejection.
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

/** The Arrow type of a column, and the function that fills its buffers. */
interface ArrowColumn {
  type: DataType
  data(cells: Cell[]): Data
}

/**
 * Returns the Arrow column for a shape, typed as in DuckDB's Parquet files: decimals, lists, structs and maps keep their types,
 * and only a timestamp with a zone is marked as UTC. Types that Arrow or Parquet lack have been cast to text (casts.ts).
 */
function arrowColumn(shape: Shape): ArrowColumn {
  switch (shape.kind) {
    case 'boolean':
      return booleans
    case 'integer':
      return shape.bits === 64 ? bigints(new Int64()) : numbers(new Int32(), length => new Int32Array(length))
    case 'float':
      return numbers(new Float64(), length => new Float64Array(length))
    case 'decimal':
      return decimals(shape.width, shape.scale)
    case 'timestamp':
      return bigints(new Timestamp(TimeUnit.MICROSECOND, shape.zone ? 'UTC' : null))
    case 'date':
      return numbers(new DateDay(), length => new Int32Array(length))
    case 'blob':
      return bytes(new Binary(), cell => Buffer.from(cell as string, 'base64'))
    case 'list':
      return lists(arrowColumn(shape.item))
    case 'struct':
      return structs(shape.fields.map(({ name, shape }) => ({ name, column: arrowColumn(shape) })))
    case 'map':
      return maps(arrowColumn(shape.key), arrowColumn(shape.value))
    default:
      return texts
  }
}

const texts = bytes(new Utf8(), cell => Buffer.from(String(cell)))

const numbers = (type: DataType, allocate: (length: number) => Int32Array | Float64Array): ArrowColumn => ({
  type,
  data(cells) {
    const values = allocate(cells.length)
    for (const [at, cell] of cells.entries()) if (cell !== null) values[at] = cell as number
    return makeData({ type, length: cells.length, ...validity(cells), data: values } as never)
  },
})

const bigints = (type: DataType): ArrowColumn => ({
  type,
  data(cells) {
    const values = new BigInt64Array(cells.length)
    for (const [at, cell] of cells.entries()) if (cell !== null) values[at] = cell as bigint
    return makeData({ type, length: cells.length, ...validity(cells), data: values } as never)
  },
})

const booleans: ArrowColumn = {
  type: new Bool(),
  data(cells) {
    const data = bits(cells, cell => cell === true)
    return makeData({ type: new Bool(), length: cells.length, ...validity(cells), data })
  },
}

function decimals(width: number, scale: number): ArrowColumn {
  const type = new Decimal(scale, width)
  return {
    type,
    data(cells) {
      const halves = new BigInt64Array(cells.length * 2)
      for (const [at, cell] of cells.entries()) {
        if (cell === null) continue
        // Arrow stores a decimal as a count of its smallest unit: the digits without the point.
        const units = BigInt(String(cell).replace('.', ''))
        halves[at * 2] = BigInt.asIntN(64, units)
        halves[at * 2 + 1] = units >> 64n
      }
      const data = new Uint32Array(halves.buffer)
      return makeData({ type, length: cells.length, ...validity(cells), data })
    },
  }
}

function bytes(type: Utf8 | Binary, encode: (cell: Exclude<Cell, null>) => Buffer): ArrowColumn {
  return {
    type,
    data(cells) {
      const parts = cells.map(cell => (cell === null ? EMPTY : encode(cell)))
      const valueOffsets = new Int32Array(cells.length + 1)
      for (const [at, part] of parts.entries()) valueOffsets[at + 1] = valueOffsets[at]! + part.length
      const data = Buffer.concat(parts)
      return makeData({ type, length: cells.length, ...validity(cells), valueOffsets, data } as never)
    },
  }
}

const EMPTY = Buffer.alloc(0)

/** Child fields have Parquet's names, so that readers that compare schemas find equal types. */
function lists(element: ArrowColumn): ArrowColumn {
  const type = new List(new Field('element', element.type, true))
  return {
    type,
    data(cells) {
      const child = element.data(cells.flatMap(cell => (cell as Cell[] | null) ?? []))
      return makeData({ type, length: cells.length, ...validity(cells), valueOffsets: offsetsOf(cells), child })
    },
  }
}

function structs(fields: { name: string; column: ArrowColumn }[]): ArrowColumn {
  const type = new Struct(fields.map(({ name, column }) => new Field(name, column.type, true)))
  return {
    type,
    data(cells) {
      const children = fields.map(({ column }, at) =>
        column.data(cells.map(cell => (cell as Cell[] | null)?.[at] ?? null)),
      )
      return makeData({ type, length: cells.length, ...validity(cells), children })
    },
  }
}

function maps(key: ArrowColumn, value: ArrowColumn): ArrowColumn {
  const entry = new Struct([new Field('key', key.type, false), new Field('value', value.type, true)])
  const type = new Map_(new Field('key_value', entry, false) as never)
  return {
    type,
    data(cells) {
      const entries = cells.flatMap(cell => (cell as [Cell, Cell][] | null) ?? [])
      const children = [key.data(entries.map(([key]) => key)), value.data(entries.map(([, value]) => value))]
      const child = makeData({ type: entry, length: entries.length, nullCount: 0, children })
      return makeData({
        type,
        length: cells.length,
        ...validity(cells),
        valueOffsets: offsetsOf(cells),
        child,
      } as never)
    },
  }
}

/** Returns the offset of each list's first element in the concatenated elements, and the end of the last list. */
function offsetsOf(cells: Cell[]): Int32Array {
  const offsets = new Int32Array(cells.length + 1)
  for (const [at, cell] of cells.entries()) offsets[at + 1] = offsets[at]! + ((cell as Cell[] | null)?.length ?? 0)
  return offsets
}

function validity(cells: Cell[]): { nullCount: number; nullBitmap: Uint8Array } {
  const nullCount = cells.reduce<number>((count, cell) => (cell === null ? count + 1 : count), 0)
  return { nullCount, nullBitmap: bits(cells, cell => cell !== null) }
}

function bits(cells: Cell[], isSet: (cell: Cell) => boolean): Uint8Array {
  const bitmap = new Uint8Array(Math.ceil(cells.length / 8))
  for (const [at, cell] of cells.entries()) if (isSet(cell)) bitmap[at >> 3]! |= 1 << (at & 7)
  return bitmap
}
