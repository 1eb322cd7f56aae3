// What DuckDB may take of memory: as configured, and more for a large warehouse.
//
// Which rows are deleted DuckDB keeps in memory from the first delete until the file is closed: a block of 256 KB for each
// row group of 30,720 rows. Replacing here and there touches all of them, and no checkpoint frees one (1.5.5). That much
// cannot be spilled, so without it loads would fail in a warehouse that has outgrown the limit.
import type { Writer } from './connection.ts'

const UNITS: Record<string, number> = {
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Bytes of a size as DuckDB writes it: `1GB`, `512 MiB`. */
export function sizeOf(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)\s*([a-z]+)$/i.exec(text.trim()) ?? []
  return Number(number) * (UNITS[unit.toLowerCase()] ?? 1)
}

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
