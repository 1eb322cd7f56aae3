// Mended copies of pages, which the process that holds the warehouse makes for DuckDB to read. They are as personal as the
// warehouse, and a killed process leaves them behind.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

export const temporaryFolder = (home: string): string => join(home, 'tmp')

/** How names of mended copies begin. */
export const MENDED = 'mended-'

/**
 * Removes what was left before `beforeMs`, when the caller began to open the warehouse. Only for who holds it: nobody else
 * writes there.
 */
export async function removeStaleCopies(home: string, beforeMs: number): Promise<void> {
  const folder = temporaryFolder(home)
  const names = await readdir(folder).catch(() => [])
  for (const file of names.filter(name => name.startsWith(MENDED)).map(name => join(folder, name))) {
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < beforeMs) await rm(file, { force: true })
  }
}
