// Rows of small SELECTs about the warehouse, for programs: from the process that holds it, whichever that is. A file that nobody holds
// is not opened: a reader would keep a sync from its lock.
import type { Connectable } from '../connection.ts'
import { queryHolder } from './http/holder-client.ts'
import { runQuery } from './query.ts'
import type { QueryResult } from './results.ts'
import type { QueryLimits } from './session.ts'

/** Numbers are below those that a double holds; times are to be asked for as such numbers. */
export type Rows = <R>(sql: string) => Promise<R[]>

const rowsBy =
  (ask: (sql: string) => Promise<QueryResult>): Rows =>
  async <R>(sql: string) => {
    const { columns, batches, close } = await ask(sql)
    try {
      const rows: R[] = []
      for await (const batch of batches) {
        for (let row = 0; row < batch.rows; row++) {
          const cells = columns.map(({ name }, at) => {
            const cell = batch.columns[at]![row]!
            return [name, typeof cell === 'bigint' ? Number(cell) : cell]
          })
          rows.push(Object.fromEntries(cells) as R)
        }
      }
      return rows
    } finally {
      await close()
    }
  }

/** In the process that holds the warehouse: beside the queries of others, however many there are. @throws QUERY_TIMEOUT, SQL_INVALID */
export const rowsHere = (instance: Connectable, limits: QueryLimits): Rows =>
  rowsBy(async sql => runQuery({ ...limits, sql, connection: await instance.connect() }))

/** From another process of this machine. @throws WAREHOUSE_LOCKED where none answers; QUERY_TIMEOUT, SQL_INVALID */
export const rowsOfHolder = (home: string, limits: QueryLimits): Rows =>
  rowsBy(sql => queryHolder({ ...limits, home, sql }))
