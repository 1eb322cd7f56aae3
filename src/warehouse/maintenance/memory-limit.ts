// What DuckDB may take of memory: as configured, and more for a large warehouse.
//
// Of each row group of 30,720 rows that has lost one, DuckDB keeps some 256 KB in memory, which it neither spills nor frees at
// a checkpoint (measured with 1.5.5). Replacing here and there touches all of them: 161 MB beside a million conversations.
// So a warehouse that is large enough would have no room left to load in.
import { sizeOf } from '../../core/size.ts'
import type { Writer } from '../connection.ts'

/** Rows of a million conversations, with their child rows: these the limit covers. */
const COVERED_ROWS = 20_000_000
const BYTES_A_ROW = 9

/** Bytes that a warehouse of so many rows, over all tables, may take where this is configured. */
export const limitOf = (configured: string, rows: number): number =>
  Math.round(sizeOf(configured) + BYTES_A_ROW * Math.max(0, rows - COVERED_ROWS))

/** Fits the limit to what the warehouse holds. */
export async function fitMemoryLimit(writer: Writer, configured: string): Promise<void> {
  const [held] = await writer.rows<{ rows: string }>(
    `SELECT coalesce(sum(estimated_size), 0)::BIGINT::VARCHAR AS rows FROM duckdb_tables() WHERE database_name = 'warehouse'`,
  )
  const rows = Number(held!.rows)
  if (rows > COVERED_ROWS) await writer.run(`SET memory_limit = '${limitOf(configured, rows)}B'`)
}
