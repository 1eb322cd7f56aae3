// The result of a query, independent of DuckDB and of the process that ran it.

/**
 * One value, encoded by the shape of its column: a timestamp is a count of microseconds since the epoch, a date a count
 * of days, a decimal its exact digits, a blob base64, a struct the list of its fields' values in order, a map a list of
 * `[key, value]`. 64-bit integers are bigint, narrower ones number.
 */
export type Cell = null | boolean | number | bigint | string | Cell[]

/** The shape of a column's cells. Types without their own kind are text as DuckDB prints it. */
export type Shape =
  | { kind: 'boolean' }
  | { kind: 'integer'; bits: 32 | 64 }
  | { kind: 'float' }
  | { kind: 'decimal'; width: number; scale: number }
  /** With a zone, the time is UTC. Without one, a query computed it, possibly in another zone. */
  | { kind: 'timestamp'; zone: boolean }
  | { kind: 'date' }
  | { kind: 'blob' }
  | { kind: 'json' }
  | { kind: 'text' }
  | { kind: 'list'; item: Shape }
  | { kind: 'struct'; fields: { name: string; shape: Shape }[] }
  | { kind: 'map'; key: Shape; value: Shape }

export interface Column {
  name: string
  /** DuckDB's name of the type, `DECIMAL(18,3)`. */
  type: string
  shape: Shape
}

/** Some rows, column by column: `columns[c][r]`. */
export interface Batch {
  rows: number
  columns: Cell[][]
}

/** A column's values in memory, for formats that copy them. */
export interface RawColumn {
  values: BigInt64Array | Int32Array | Float64Array | Uint8Array
  /** A bit for each row, 0 for NULL; null if no row is NULL. */
  nulls: Uint8Array | null
  /** Of texts (UTF-8): where each begins, and the end of the last. */
  offsets?: Int32Array
}

/** Like `Batch`; columns of some types have cells. */
export interface RawBatch {
  rows: number
  columns: (RawColumn | Cell[])[]
}

export interface Tally {
  rows: number
  /** True if `maxRows` cut the result: there was at least one more row. */
  truncated: boolean
}

export interface QueryResult {
  columns: Column[]
  /** Batches of rows, which can be read once. @throws QUERY_TIMEOUT, INTERRUPTED or SQL_INVALID if the query ends early */
  batches: AsyncIterable<Batch>
  /** Yields the rows in another form, instead of `batches`; missing if another process reads them. */
  rawBatches?: () => AsyncIterable<RawBatch>
  /** Counts the rows read so far; final when `batches` has ended. */
  tally(): Tally
  /** Ends the query and releases its resources. May be called at any time, repeatedly. */
  close(): Promise<void>
}

/** Makes names unique, ignoring case; first occurrences stay unchanged: `a, a, a_1` becomes `a, a_2, a_1`. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names.map(name => name.toLowerCase()))
  const given = new Set<string>()
  return names.map(name => {
    let unique = name
    for (let count = 1; given.has(unique.toLowerCase()); count++) {
      const next = `${name}_${count}`
      if (!taken.has(next.toLowerCase())) unique = next
    }
    given.add(unique.toLowerCase())
    return unique
  })
}
