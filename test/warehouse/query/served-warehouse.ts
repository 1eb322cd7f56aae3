// A table of numbers in a real file, held by this process: opened once per test file, served on a new socket for each test.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type HolderQuery, queryHolder } from '../../../src/warehouse/query/http/holder-client.ts'
import { type QueryServer, serveQueries } from '../../../src/warehouse/query/http/socket-server.ts'
import type { Cell, QueryResult } from '../../../src/warehouse/query/results.ts'
import { until } from '../../until.ts'

/** A query that fails in the last tenth of its rows. */
export const LATE = "SELECT CASE WHEN range < 270000 THEN 1 ELSE ('x' || range)::INTEGER END FROM range(300000)"
export const ENDLESS = 'SELECT count(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n + c.n = 7'

export interface ServedWarehouse {
  home: string
  instance: DuckDBInstance
  writer: DuckDBConnection
  server: QueryServer
  ask(sql: string, more?: Partial<HolderQuery> & { maxRows?: number }): Promise<QueryResult>
  /** Waits until enough queries have released their slots for a new one to be answered. */
  untilAnswered(): Promise<void>
  /** Waits until running queries have taken all slots. @returns the error of one more */
  untilRefused(): Promise<unknown>
}

export async function rowsOf(result: QueryResult): Promise<Cell[][]> {
  const rows: Cell[][] = []
  for await (const batch of result.batches) {
    for (let row = 0; row < batch.rows; row++) rows.push(batch.columns.map(cells => cells[row]!))
  }
  return rows
}

/** Serves the warehouse. Call it at the top level of a test file. */
export function servedWarehouse(): ServedWarehouse {
  const served = {
    // The default timeout is longer than a test may take: a query that nothing else stops fails the test.
    ask: (sql, more = {}) => queryHolder({ home: served.home, sql, timeoutMs: 120_000, ...more }),
    async untilAnswered() {
      await until(() => served.ask('SELECT 1').then(rowsOf, () => undefined), { everyMs: 20 })
    },
    untilRefused: () =>
      until(() =>
        served.ask('SELECT 1', { timeoutMs: 100 }).then(
          result => result.close(),
          (error: unknown) => error,
        ),
      ),
  } as ServedWarehouse
  beforeAll(async () => {
    served.home = await mkdtemp(join(tmpdir(), 'socket-'))
    served.instance = await DuckDBInstance.create(join(served.home, 'warehouse.duckdb'))
    served.writer = await served.instance.connect()
    await served.writer.run("CREATE TABLE numbers AS SELECT range AS n, repeat('x', 100) AS text FROM range(20000)")
  })
  beforeEach(async () => {
    served.server = await serveQueries({ home: served.home, instance: served.instance })
  })
  afterEach(async () => {
    await served.server.close()
    await rm(served.server.path, { force: true })
  })
  afterAll(async () => {
    served.writer.closeSync()
    served.instance.closeSync()
    await rm(served.home, { recursive: true })
  })
  return served
}
