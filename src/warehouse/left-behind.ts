// Temporary files of the process that holds the warehouse: mended copies of pages, and what did not fit in DuckDB's memory.
// Both are as personal as the warehouse, and the second may be as large; a killed process leaves them behind.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

export const temporaryFolder = (home: string): string => join(home, 'tmp')

/** Where DuckDB writes what does not fit in memory. */
export const spillFolder = (home: string): string => join(temporaryFolder(home), 'duckdb')

/** How names of mended copies begin. */
export const MENDED = 'mended-'

/** How DuckDB names what it spills. */
const SPILT = 'duckdb_temp_'

async function sweep(folder: string, prefix: string, beforeMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const file of names.filter(name => name.startsWith(prefix)).map(name => join(folder, name))) {
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < beforeMs) await rm(file, { force: true })
  }
}

/**
 * Removes what was left before `beforeMs`, when the caller began to open the warehouse. Only for who holds it: nobody else
 * writes there.
 */
export async function sweepLeftBehind(home: string, beforeMs: number): Promise<void> {
  await sweep(temporaryFolder(home), MENDED, beforeMs)
  await sweep(spillFolder(home), SPILT, beforeMs)
}
