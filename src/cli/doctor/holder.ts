// Finds the process that holds the warehouse.
import { isCode } from '../../core/errors.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import { openReader } from '../../warehouse/query/reader.ts'
import type { Storage } from '../storage.ts'

/** `free`: no process holds it, and it opens. `pid` is null if the system does not report it. */
export type Holding = { state: 'missing' } | { state: 'free' } | { state: 'held'; pid: number | null; error: unknown }

/** Opens the warehouse for reading, and closes it again. @throws HOME_UNUSABLE where it is damaged */
export async function findHolder({ home, memoryLimit, threads }: Storage): Promise<Holding> {
  try {
    const reader = await openReader({ file: warehouseFile(home), memoryLimit, threads })
    reader.close()
    return { state: 'free' }
  } catch (error) {
    if (isCode(error, 'WAREHOUSE_MISSING')) return { state: 'missing' }
    if (!isCode(error, 'WAREHOUSE_LOCKED')) throw error
    const { pid } = error.facts
    return { state: 'held', pid: typeof pid === 'number' ? pid : null, error }
  }
}

export const holderText = (pid: number | null): string => (pid === null ? 'another process' : `process ${pid}`)
