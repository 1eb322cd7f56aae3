// Finishes erasures: from the tombstone alone, so that a kill at any moment is repeated by the next command that writes.
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openStores } from '../app/stores.ts'
import type { Config } from '../config.ts'
import { pendingErasures, recordStep } from '../landing/tombstones.ts'
import { LEFTOVERS } from '../steps/forgetting/places.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'
import { eraseForgotten } from './erase-forgotten.ts'
import { replay } from './replay.ts'

async function removeLeftovers({ home, serve, targets }: Config): Promise<void> {
  // `serve` publishes its own snapshot again, and reads the open file until then.
  const snapshot = targets.includes(serve.target) ? [] : ['serve/snapshot.duckdb']
  for (const name of [...LEFTOVERS, ...snapshot])
    await rm(join(home, name.replace('/**', '')), { recursive: true, force: true })
}

/**
 * Erases pending erasures and rebuilds the warehouse without them: DuckDB keeps the bytes of deleted rows in free blocks.
 * @throws WAREHOUSE_LOCKED, and the errors of `replay`
 */
export async function finishErasures(config: Config): Promise<void> {
  const pending = await pendingErasures(config.home)
  if (pending.length === 0) return
  const isNeeded = async () => (await pendingErasures(config.home)).length > 0
  // Rows whose sources are missing stay, except those of forgotten people.
  const { erased } = existsSync(warehouseFile(config.home))
    ? await replay({ config, allowIncomplete: true, isNeeded })
    : { erased: await eraseForgotten(config, { stores: openStores(config.home), warehouse: null }, Date.now()) }
  // Another process that held the warehouse has completed them.
  if (!(await isNeeded())) return
  await removeLeftovers(config)
  for (const { id: erasure } of pending) await recordStep(config.home, { erasure, atMs: Date.now(), ...erased })
}
