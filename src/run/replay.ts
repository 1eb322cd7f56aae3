// Replay: the warehouse rebuilt from the landing, without one request. The new one is built beside the old one, which
// stays as it is until the new one is whole.
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { openHouse } from '../app.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { openLanding } from '../landing/store.ts'
import { openPending, readPending } from '../steps/pending.ts'
import { loadContext } from '../steps.ts'
import { carryOver } from '../warehouse/carry-over.ts'
import { type LoadResult, loadPages } from '../warehouse/load.ts'
import { openWarehouse, type Warehouse, warehouseFile } from '../warehouse/open.ts'
import { copyRuns } from '../warehouse/runs.ts'

export interface ReplayReport {
  files: number
  records: number
  mended: number
  quarantined: number
}

export interface ReplayOptions {
  config: Config
  now?: () => number
  tell?: (progress: { workspaceId: string; files: number; of: number; records: number }) => void
  signal?: AbortSignal
}

const REBUILT = 'warehouse.rebuilt.duckdb'

/** Larger than a sync's: nobody waits for the first rows of a replay. */
const A_LOAD = { count: 1_000, bytes: 192 * 1024 * 1024 }

async function loadAll(
  options: ReplayOptions,
  warehouse: Warehouse,
  workspace: WorkspaceConfig,
  report: ReplayReport,
): Promise<void> {
  const { config, now = Date.now } = options
  const landing = openLanding(config.home, workspace.id)
  const pending = openPending(landing, await readPending(landing, new Set()))
  const of = pending.all().length
  const context = loadContext({
    home: config.home,
    workspaceId: workspace.id,
    landing,
    warehouse,
    settings: workspace,
    now,
  })
  for (let files = 0; files < of; ) {
    options.signal?.throwIfAborted()
    const pages = pending.next(A_LOAD)
    const loaded: LoadResult = await loadPages(context, pages)
    pending.taken(pages)
    files += loaded.files
    report.files += loaded.files
    report.records += loaded.records
    report.mended += loaded.mended
    report.quarantined += loaded.quarantined
    options.tell?.({ workspaceId: workspace.id, files, of, records: report.records })
  }
}

const remove = (file: string): Promise<unknown> =>
  Promise.all([rm(file, { force: true }), rm(`${file}.wal`, { force: true })])

/** Where there is no warehouse, none has to be kept meanwhile: a kill leaves one that the next sync or replay completes. */
async function replayIntoNothing(options: ReplayOptions, report: ReplayReport): Promise<ReplayReport> {
  const house = await openHouse({ config: options.config, bulk: true })
  try {
    for (const workspace of options.config.workspaces) await loadAll(options, house.warehouse, workspace, report)
  } finally {
    await house.close()
  }
  return report
}

/** Rebuilds what the warehouse has of every configured workspace; other workspaces stay as they are. @throws WAREHOUSE_LOCKED, LOAD_FAILED, LANDING_CORRUPT */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  const { config } = options
  const { home, memoryLimit, threads } = config
  const report: ReplayReport = { files: 0, records: 0, mended: 0, quarantined: 0 }
  if (!existsSync(warehouseFile(home))) return replayIntoNothing(options, report)
  // Held meanwhile, so that no sync writes to what is about to be replaced; it answers queries until then.
  const old = await openHouse({ config })
  try {
    await remove(warehouseFile(home, REBUILT))
    const rebuilt = await openWarehouse({ home, memoryLimit, threads, name: REBUILT, bulk: true })
    try {
      for (const workspace of config.workspaces) await loadAll(options, rebuilt, workspace, report)
      await copyRuns(old.warehouse.writer, rebuilt.writer)
    } finally {
      await rebuilt.close()
    }
    const rebuiltIds = config.workspaces.map(workspace => workspace.id)
    await carryOver(old.warehouse.writer, warehouseFile(home, REBUILT), rebuiltIds)
  } catch (error) {
    await old.close()
    await remove(warehouseFile(home, REBUILT))
    throw error
  }
  await old.close()
  // A write-ahead log of the old file must never be found beside the new one.
  await rm(`${warehouseFile(home)}.wal`, { force: true })
  await rename(warehouseFile(home, REBUILT), warehouseFile(home))
  return report
}
