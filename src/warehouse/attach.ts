// Attaching the warehouse's file, and what it means when that fails: held by another process, damaged, or refused.
import { readFile, rm, stat } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { quoteText } from '../catalog/layout.ts'
import { homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { warehouseFault } from './fault.ts'

/** DuckDB's headers. What is shorter holds nothing: a full disk or a kill leaves such a file while it is made. */
const HEADER_BYTES = 3 * 4096

// Not any "lock": a damaged file is told by its "block". Linux and macOS say the first, Windows the second.
const HELD = /Conflicting lock is held|being used by another process/

export function openingError(file: string, cause: unknown): ConvohouseError {
  const message = String((cause as Error)?.message ?? cause)
  if (HELD.test(message)) {
    const holder = /PID (\d+)/.exec(message)?.[1]
    return new ConvohouseError('WAREHOUSE_LOCKED', {
      what: `Another process${holder ? ` (PID ${holder})` : ''} holds ${file}.`,
      hint: 'Wait until its sync has ended, or stop it. `convohouse query` and `status` answer meanwhile.',
      cause,
      facts: { pid: holder ? Number(holder) : null },
    })
  }
  const fault = warehouseFault(file, cause)
  if (fault) return fault
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `Cannot open ${file}: ${message.split('\n')[0]}`,
    hint: 'Check that the data folder is writable. A damaged warehouse may be deleted: `convohouse replay` rebuilds it from the landing.',
    cause,
  })
}

/** Empty, or cut off within DuckDB's headers; any other file is not ours to remove. */
async function isStub(file: string): Promise<boolean> {
  const { size } = await stat(file)
  if (size >= HEADER_BYTES) return false
  return size === 0 || (await readFile(file)).toString('latin1', 8, 12) === 'DUCK'
}

/** Attaches the file as `warehouse`, which is made where it is not there. @throws WAREHOUSE_LOCKED, HOME_UNUSABLE */
export async function attach(connection: DuckDBConnection, file: string, options: string): Promise<void> {
  const attempt = () => connection.run(`ATTACH ${quoteText(file)} AS warehouse (${options})`)
  const failed = (cause: unknown) => openingError(file, cause)
  try {
    await attempt()
  } catch (cause) {
    // Whoever is making it right now holds its lock.
    if (HELD.test(String(cause)) || !(await isStub(file).catch(() => false))) throw failed(cause)
    await rm(file, { force: true })
    await rm(`${file}.wal`, { force: true })
    await attempt().catch(async again => {
      // DuckDB does not notice that its headers were cut off by a full disk before it reads them again.
      throw (await isStub(file).catch(() => false))
        ? homeUnusable(file, { code: 'ENOSPC', cause: again })
        : failed(again)
    })
  }
}
