// Rows of small SELECTs about the warehouse itself, as plain objects for reports and metrics.
import {
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValueConverter,
  JSDuckDBValueConverter,
} from '@duckdb/node-api'
import { SECOND } from '../../core/time.ts'
import type { Connectable, Writer } from '../connection.ts'
import { withLiterals } from '../sql-files.ts'
import { timestampText } from './formats/json.ts'
import { queryHolder } from './http/holder-client.ts'
import { runQuery } from './query.ts'
import type { Cell, QueryResult, Shape } from './results.ts'
import { openSession, type QueryLimits } from './session.ts'
import { openWarehouseClient, queryWarehouse, type WarehouseAccess } from './warehouse-client.ts'

export type Fact = string | number | boolean | null

/** Runs one SELECT. Counts are numbers; times are ISO-8601 in UTC, like all times of the bookkeeping. */
export type Rows = <R>(sql: string) => Promise<R[]>

/** Reads in this process, which holds the warehouse, without a slot of the query queue. @throws QUERY_TIMEOUT, SQL_INVALID */
export const rowsHere = (instance: Connectable, limits: QueryLimits): Rows =>
  rowsBy(async sql => runQuery({ ...limits, sql, connection: await instance.connect() }))

/**
 * Like `rowsHere`, on a connection of the caller and without the guard: for our own SQL. The guard takes longer than most
 * checks of a small warehouse, and a sync runs fifty.
 */
export const unguardedRows =
  (connection: DuckDBConnection, limits: QueryLimits): Rows =>
  async <R>(sql: string) => {
    const session = await openSession(connection, limits)
    try {
      return (await session.step(() => connection.runAndReadAll(sql))).convertRowObjects(plainValue) as R[]
    } finally {
      await session.close()
    }
  }

/** Integers and decimals become numbers, times ISO-8601 texts. */
const plainValue: DuckDBValueConverter<unknown> = (value, type, converter) => {
  if (value instanceof DuckDBTimestampTZValue) return timestampText(value.micros, { kind: 'timestamp', zone: true })
  if (value instanceof DuckDBTimestampValue) return timestampText(value.micros, { kind: 'timestamp', zone: false })
  if (value instanceof DuckDBDateValue) return value.toString()
  return typeof value === 'bigint' ? Number(value) : JSDuckDBValueConverter(value, type, converter as never)
}

/**
 * Reads from the local process that holds the warehouse. If there is none, the file is not opened, because that would
 * keep a sync from locking it. @throws WAREHOUSE_LOCKED if no process answers; QUERY_TIMEOUT, SQL_INVALID
 */
export const rowsOfHolder = (home: string, limits: QueryLimits): Rows =>
  rowsBy(sql => queryHolder({ ...limits, home, sql }))

const TIMEOUT_MS = 30 * SECOND

/** Reads from the file, which is opened for each SELECT, or from the process that holds it. @throws WAREHOUSE_MISSING, WAREHOUSE_LOCKED */
export const warehouseRows = (access: WarehouseAccess): Rows =>
  rowsBy(sql => queryWarehouse(access, { sql, timeoutMs: TIMEOUT_MS }))

/** Like `warehouseRows`, for many SELECTs: the file is opened once. `isHeld`: another process answered the last SELECT. */
export async function withWarehouseRows<T>(
  access: WarehouseAccess,
  work: (rows: Rows, isHeld: () => boolean) => Promise<T>,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  const client = openWarehouseClient(access)
  try {
    return await work(
      rowsBy(sql => client.query({ sql, timeoutMs })),
      client.isHeld,
    )
  } finally {
    client.close()
  }
}

/** Like `rows`, for SQL with parameters, which become literals, since the warehouse's holder accepts no parameters. */
export const withParams = (rows: Rows): Pick<Writer, 'rows'> => ({
  rows: (sql, params = {}) => rows(withLiterals(sql, params)),
})

const rowsBy =
  (query: (sql: string) => Promise<QueryResult>): Rows =>
  async <R>(sql: string) => {
    const { columns, batches, close } = await query(sql)
    try {
      const rows: R[] = []
      for await (const batch of batches) {
        for (let row = 0; row < batch.rows; row++) {
          const fields = columns.map(({ name, shape }, at) => [name, factOf(batch.columns[at]![row]!, shape)])
          rows.push(Object.fromEntries(fields) as R)
        }
      }
      return rows
    } finally {
      await close()
    }
  }

function factOf(cell: Cell, shape: Shape): Fact {
  if (cell === null) return null
  if (shape.kind === 'timestamp') return timestampText(cell as bigint, shape)
  return typeof cell === 'bigint' ? Number(cell) : (cell as Fact)
}
