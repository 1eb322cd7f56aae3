// Rebuilds a warehouse from landing and spool, in a file beside the existing one.
import { rm } from 'node:fs/promises'
import type { App } from '../app.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import { folderOf } from '../landing/page-address.ts'
import { applySpool, type DamagedArchive } from '../steps/events/drain.ts'
import { openPending, readPending } from '../steps/pending.ts'
import { loadContext } from '../steps.ts'
import type { Writer } from '../warehouse/connection.ts'
import { applyPreservedEvents } from '../warehouse/events/apply.ts'
import { type LoadResult, loadPages } from '../warehouse/load/load.ts'
import { storeTimeZone } from '../warehouse/load/time-zone.ts'
import { type LostRows, preserveEvents, withRebuilt } from '../warehouse/maintenance/preserve-rows.ts'
import { refreshMarts } from '../warehouse/marts/refresh.ts'
import { storeResponseRules } from '../warehouse/marts/response-rules.ts'
import { refreshModels } from '../warehouse/models/refresh-models.ts'
import { openWarehouse, type Warehouse } from '../warehouse/open.ts'
import { dropFulls } from '../warehouse/planning/full-exports.ts'
import { loadedFiles } from '../warehouse/planning/loaded-files.ts'
import { insertRuns } from '../warehouse/runs.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'
import type { Erased } from './erase-forgotten.ts'

export interface ReplayReport {
  files: number
  records: number
  coerced: number
  quarantined: number
  /** Number of applied webhook events. */
  events: number
  /** Number of pages that retention has removed. Their rows come from the replaced warehouse, if there is one. */
  expired: number
  /** Number of archive files of webhook events that retention has removed, if no warehouse has the rows of their events. */
  expiredArchives: number
  /** Damaged archive files of the spool. */
  damaged: DamagedArchive[]
  /** Number of events that no file of the spool contains. Their rows come from the replaced warehouse, without payloads. */
  keptEvents: number
  /** What was erased of forgotten people. */
  erased: Erased
  /** New path of the replaced warehouse, if it had another layout. */
  movedTo: string | null
}

export interface ReplayOptions {
  config: Config
  now?: () => number
  onProgress?: (progress: { workspaceId: string; files: number; of: number; records: number }) => void
  signal?: AbortSignal
}

export const EMPTY_REPLAY: ReplayReport = {
  files: 0,
  records: 0,
  coerced: 0,
  quarantined: 0,
  events: 0,
  expired: 0,
  expiredArchives: 0,
  damaged: [],
  keptEvents: 0,
  erased: { places: {}, checksums: [] },
  movedTo: null,
}

/** Larger batches than a sync's, because nobody waits for the first rows of a replay. */
const LOAD_BATCH = { count: 1_000, bytes: 192 * 1024 * 1024 }

/** The stores that are read, and the warehouse that is loaded. */
type Rebuilding = Pick<App, 'stores' | 'warehouse'>

/** Loads the landing of one workspace into `warehouse`. @throws LOAD_FAILED, LANDING_CORRUPT */
export async function loadAll(
  options: ReplayOptions,
  { stores, warehouse }: Rebuilding,
  workspace: WorkspaceConfig,
): Promise<ReplayReport> {
  const { config, now = Date.now } = options
  const landing = stores.landing.workspace(workspace.id)
  const pending = openPending(await readPending(landing, new Set()))
  const of = pending.all().length
  const { home } = config
  const context = loadContext({ home, workspaceId: workspace.id, landing, warehouse, settings: workspace, now })
  const report = { ...EMPTY_REPLAY }
  const { id, timeZone, responseRules } = workspace
  await context.writer.transaction(async () => {
    await storeTimeZone(context.writer, id, timeZone)
    await storeResponseRules(context.writer, id, { ...responseRules, timeZone })
  })
  while (report.files < of) {
    options.signal?.throwIfAborted()
    const pages = pending.next(LOAD_BATCH)
    const loaded: LoadResult = await loadPages(context, pages)
    pending.taken(pages)
    report.files += loaded.files
    report.records += loaded.records
    report.coerced += loaded.coerced
    report.quarantined += loaded.quarantined
    options.onProgress?.({ workspaceId: workspace.id, files: report.files, of, records: report.records })
  }
  await insertRuns(context.writer, workspace.id, await landing.runs())
  const droppedMs = await landing.fullsDroppedMs()
  if (droppedMs !== null) await dropFulls(context.writer, workspace.id, droppedMs)
  const { applied: events, damaged } = await applySpool({ ...context, home })
  return { ...report, events, damaged }
}

/** Copies events that no file of the spool contains from the open warehouse into the closed rebuilt one. @returns their number */
export async function keepEvents(from: Writer, { config, now = Date.now }: ReplayOptions): Promise<number> {
  const kept = new Map<WorkspaceConfig, number>()
  await withRebuilt(from, rebuiltFile(config.home), async () => {
    for (const workspace of config.workspaces) kept.set(workspace, await preserveEvents(from, workspace.id))
  })
  const concerned = config.workspaces.filter(workspace => kept.get(workspace)! > 0)
  if (concerned.length === 0) return 0
  const rebuilt = await openRebuilt(config)
  try {
    for (const { id: workspaceId, timeZone } of concerned)
      await applyPreservedEvents({ writer: rebuilt.writer, workspaceId, timeZone, now })
  } finally {
    await rebuilt.close()
  }
  return [...kept.values()].reduce((sum, events) => sum + events, 0)
}

export const added = (a: ReplayReport, b: ReplayReport): ReplayReport => ({
  files: a.files + b.files,
  records: a.records + b.records,
  coerced: a.coerced + b.coerced,
  quarantined: a.quarantined + b.quarantined,
  events: a.events + b.events,
  expired: a.expired + b.expired,
  expiredArchives: a.expiredArchives + b.expiredArchives,
  damaged: [...a.damaged, ...b.damaged],
  keptEvents: a.keptEvents + b.keptEvents,
  erased: a.erased,
  movedTo: a.movedTo ?? b.movedTo,
})

/** Returns the loaded files that are missing from the landing. */
async function goneFiles({ stores, warehouse }: Rebuilding, workspaceId: string): Promise<string[]> {
  const landed = new Set((await stores.landing.workspace(workspaceId).list()).map(({ address }) => address))
  return [...(await loadedFiles(warehouse.writer, workspaceId))].filter(file => !landed.has(file))
}

const incomplete = (workspaceId: string, gone: readonly string[]): ConvohouseError =>
  new ConvohouseError('LANDING_INCOMPLETE', {
    what:
      gone.length === 1
        ? `1 loaded file of workspace ${workspaceId} is missing from the landing: ${gone[0]}. Nothing was changed.`
        : `${gone.length} loaded files of workspace ${workspaceId} are missing from the landing, for example ${gone[0]}. Nothing was changed.`,
    hint: 'Restore them from a backup; or pass --allow-incomplete, which keeps the rows that only they supplied.',
    facts: { workspace: workspaceId, files: gone.length },
  })

/**
 * Returns the loaded files that are missing from the landing, by workspace, and how many of them retention has removed.
 * @throws LANDING_INCOMPLETE if others are missing too, unless `allowIncomplete`
 */
export async function goneOf(
  { workspaces }: Config,
  app: Rebuilding,
  allowIncomplete: boolean,
): Promise<{ gone: Map<string, string[]>; expired: number }> {
  const gone = new Map<string, string[]>()
  let expired = 0
  for (const { id } of workspaces) {
    const files = await goneFiles(app, id)
    const folders = await app.stores.landing.workspace(id).expired()
    const missing = files.filter(file => !folders.has(folderOf(file)))
    if (missing.length > 0 && !allowIncomplete) throw incomplete(id, missing)
    gone.set(id, files)
    expired += files.length - missing.length
  }
  return { gone, expired }
}

/** @throws REPLAY_LOSES_ROWS if rows would be lost */
export function expectNothingLost(lost: readonly LostRows[]): void {
  const [first] = lost
  if (!first) return
  const counts = lost.map(
    ({ table, rows, some }) =>
      `${rows} of ${table} (${some.map(key => JSON.stringify(key)).join(', ')}${rows > some.length ? ', …' : ''})`,
  )
  throw new ConvohouseError('REPLAY_LOSES_ROWS', {
    what: `The landed pages and received events do not contain all rows of the warehouse: ${counts.join('; ')} would be lost. Nothing was changed.`,
    hint: 'Restore what is missing in the landing or the spool; or pass --allow-incomplete, which keeps those rows.',
    facts: { table: first.table, rows: lost.reduce((sum, { rows }) => sum + rows, 0) },
  })
}

/** File of the new warehouse while it is built. A killed replay leaves it behind; the next replay removes it. */
export const REBUILT = 'warehouse.rebuilt.duckdb'

export const rebuiltFile = (home: string): string => warehouseFile(home, REBUILT)

const remove = (file: string): Promise<unknown> =>
  Promise.all([rm(file, { force: true }), rm(`${file}.wal`, { force: true })])

export const removeRebuilt = (home: string): Promise<unknown> => remove(rebuiltFile(home))

function openRebuilt({ home, replayMemoryLimit: memoryLimit, threads }: Config): Promise<Warehouse> {
  return openWarehouse({ home, memoryLimit, threads, name: REBUILT, bulk: true })
}

/** Builds the user's models. If their folder cannot be read, the replay continues and the next sync reports it. */
export const buildModels = async ({ models: folder }: Config, warehouse: Warehouse): Promise<void> => {
  await refreshModels({ warehouse, folder }).catch(error => {
    if (!isCode(error, 'MODEL_INVALID')) throw error
  })
}

/** Builds the marts and models of the closed rebuilt warehouse, after all of its rows are in place. */
export async function buildMarts(config: Config): Promise<void> {
  const rebuilt = await openRebuilt(config)
  try {
    await refreshMarts(rebuilt.writer)
    await buildModels(config, rebuilt)
  } finally {
    await rebuilt.close()
  }
}

/** Creates the new file, lets `fill` load it, and closes it. */
export async function rebuildBeside<T>(config: Config, fill: (rebuilt: Warehouse) => Promise<T>): Promise<T> {
  await removeRebuilt(config.home)
  const rebuilt = await openRebuilt(config)
  try {
    return await fill(rebuilt)
  } finally {
    await rebuilt.close()
  }
}
