// Rows of small SELECTs about the warehouse itself.
import { SECOND } from '../../core/time.ts'
import { timestampText } from '../../warehouse/query/formats/time-text.ts'
import type { Cell, QueryResult, Shape } from '../../warehouse/query/results.ts'
import type { Storage } from '../query/storage.ts'
import { openWarehouseClient, queryWarehouse } from '../query/warehouse-client.ts'

export type Fact = string | number | boolean | null
export type Rows = <R>(sql: string) => Promise<R[]>

const TIMEOUT_MS = 30 * SECOND

/** Counts are far below the numbers that a double holds; times are ISO-8601, and those of the books are UTC. */
function factOf(cell: Cell, shape: Shape): Fact {
  if (cell === null) return null
  if (shape.kind === 'timestamp') return timestampText(cell as bigint, { ...shape, zone: true })
  return typeof cell === 'bigint' ? Number(cell) : (cell as Fact)
}

type Ask = (question: { sql: string; timeoutMs: number }) => Promise<QueryResult>

const rowsBy =
  (ask: Ask): Rows =>
  async <R>(sql: string) => {
    const result = await ask({ sql, timeoutMs: TIMEOUT_MS })
    try {
      const rows: R[] = []
      for await (const batch of result.batches) {
        for (let row = 0; row < batch.rows; row++) {
          const fields = result.columns.map(({ name, shape }, at) => [name, factOf(batch.columns[at]![row]!, shape)])
          rows.push(Object.fromEntries(fields) as R)
        }
      }
      return rows
    } finally {
      await result.close()
    }
  }

/** Asks for rows as plain objects, by whichever way the warehouse can be asked. */
export const reportRows = (storage: Storage): Rows => rowsBy(question => queryWarehouse({ storage, ...question }))

/** The same, for work that asks for many: the warehouse is opened once. `isHeld`: another process answered the last question. */
export async function withReportRows<T>(
  storage: Storage,
  work: (rows: Rows, isHeld: () => boolean) => Promise<T>,
): Promise<T> {
  const asker = openWarehouseClient(storage)
  try {
    return await work(rowsBy(asker.query), asker.isHeld)
  } finally {
    asker.close()
  }
}

/** Workspaces that something was ever synced of. */
export async function workspacesIn(rows: Rows): Promise<string[]> {
  const found = await rows<{ id: string }>(
    'SELECT DISTINCT workspace_id AS id FROM _runs UNION SELECT DISTINCT workspace_id FROM _loads UNION SELECT workspace_id FROM _workspaces ORDER BY id',
  )
  return found.map(({ id }) => id)
}
