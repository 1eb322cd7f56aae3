// Replay: rebuilds the warehouse from landing and spool without a request. The new file is built beside the old one and replaces
// it when complete. Runs, workspaces that are not configured, and events whose files are missing are copied from the old one.
import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { openStores } from '../app/stores.ts'
import { type App, openApp } from '../app.ts'
import type { Config } from '../config.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import { compactTimestamp } from '../core/time.ts'
import { entriesIn } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import type { LandingStore } from '../landing/landing.ts'
import { expiredArchives } from '../spool/archive.ts'
import { hasSpool, spoolRoot } from '../spool/folders.ts'
import { copyConsumers } from '../warehouse/changes/consumers.ts'
import { storedResults, storeResults } from '../warehouse/checks/results.ts'
import { deriveDays } from '../warehouse/load/time-zone.ts'
import {
  lostRows,
  preserveGoneFiles,
  preserveLostRows,
  preserveMarks,
  preserveOtherWorkspaces,
  preserveQuarantinedSince,
  withRebuilt,
} from '../warehouse/maintenance/preserve-rows.ts'
import { refreshMarts } from '../warehouse/marts/refresh.ts'
import { copyRuns } from '../warehouse/runs.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'
import { eraseForgotten } from './erase-forgotten.ts'
import {
  added,
  buildMarts,
  buildModels,
  EMPTY_REPLAY,
  expectNothingLost,
  goneOf,
  keepEvents,
  loadAll,
  type ReplayOptions,
  type ReplayReport,
  rebuildBeside,
  rebuiltFile,
  removeRebuilt,
} from './rebuild.ts'

interface WholeReplayOptions extends ReplayOptions {
  /** Continues when loaded files are missing: rows that only they supplied are copied from the old warehouse. */
  allowIncomplete?: boolean
  /** Asked once the warehouse is held: false ends the replay, which another process has done meanwhile. */
  isNeeded?: () => Promise<boolean>
  /** Continues from a warehouse of another layout although retention has removed source files of its rows. */
  dropExpired?: boolean
}

/** Refuses a folder in which nothing has landed, which may be mistyped. @throws WAREHOUSE_MISSING */
async function expectLanded({ home, workspaces }: Config): Promise<void> {
  const stores = openStores(home)
  for (const { id } of workspaces) {
    const landing = stores.landing.workspace(id)
    if (hasSpool(home, id) || (await landing.folders()).length > 0 || (await landing.runs()).length > 0) return
  }
  throw new ConvohouseError('WAREHOUSE_MISSING', {
    what: `${home} has neither a warehouse nor anything to rebuild one from: nothing has landed there for ${workspaces.map(({ id }) => id).join(', ')}.`,
    hint: 'Set the right data folder (`home`, CONVOHOUSE_HOME) and workspace; to fill a new data folder, run `convohouse sync`.',
  })
}

/** Loads directly into the final file, without an old warehouse. After a kill, the next sync or replay completes it. */
async function replayIntoNothing(options: ReplayOptions): Promise<ReplayReport> {
  await expectLanded(options.config)
  const app = await openApp({ config: options.config, bulk: true })
  let report = EMPTY_REPLAY
  try {
    await eraseForgotten(options.config, { stores: app.stores, warehouse: null }, (options.now ?? Date.now)())
    for (const workspace of options.config.workspaces) {
      const expired = [...(await app.stores.landing.workspace(workspace.id).expired()).values()]
      const pages = expired.reduce((sum, count) => sum + count, 0)
      const archives = await expiredArchives(options.config.home, workspace.id)
      const loaded = await loadAll(options, app, workspace)
      report = added(report, { ...loaded, expired: pages, expiredArchives: archives })
    }
    await refreshMarts(app.warehouse.writer)
    await buildModels(options.config, app.warehouse)
  } finally {
    await app.close()
  }
  return report
}

async function rebuildFrom(options: WholeReplayOptions, old: App): Promise<ReplayReport> {
  const { config } = options
  const { writer } = old.warehouse
  const erased = await eraseForgotten(config, old, (options.now ?? Date.now)())
  const { gone, expired } = await goneOf(config, old, options.allowIncomplete === true)
  let report = { ...EMPTY_REPLAY, erased, expired }
  await rebuildBeside(config, async rebuilt => {
    for (const workspace of config.workspaces) {
      report = added(report, await loadAll(options, { ...old, warehouse: rebuilt }, workspace))
    }
    await copyRuns(writer, rebuilt.writer)
    // A check that blocks publications goes on blocking them until it passes.
    await storeResults(rebuilt.writer, await storedResults(writer))
    await copyConsumers(writer, rebuilt.writer)
  })
  const keptEvents = await keepEvents(writer, options)
  const ids = config.workspaces.map(({ id }) => id)
  await withRebuilt(writer, rebuiltFile(config.home), async () => {
    await preserveOtherWorkspaces(writer, ids)
    for (const { id, timeZone } of config.workspaces) {
      await preserveGoneFiles(writer, id, gone.get(id) ?? [])
      await deriveDays(writer, { workspaceId: id, timeZone, schema: 'rebuilt' })
    }
    if ([...gone.values()].some(files => files.length > 0)) await preserveMarks(writer, ids)
    await preserveQuarantinedSince(writer, ids)
    const lost = await lostRows(writer, ids)
    if (options.allowIncomplete && lost.length > 0) for (const id of ids) await preserveLostRows(writer, id)
    expectNothingLost(options.allowIncomplete ? await lostRows(writer, ids) : lost)
  })
  await buildMarts(config)
  return { ...report, keptEvents }
}

/**
 * Refuses a remaining log of the old file. Closing writes it into the file, unless the disk refuses. DuckDB would apply
 * it to the new file; without it, a kill before the rename would leave the old file without its last rows.
 * @throws HOME_UNUSABLE if it remains
 */
async function expectNoLog({ home }: Config, file: string): Promise<void> {
  if (!existsSync(`${file}.wal`)) return
  await removeRebuilt(home)
  throw new ConvohouseError('HOME_UNUSABLE', {
    what: `${file}.wal could not be written into the old warehouse, which is unchanged.`,
    hint: 'Free disk space, then run the same command again.',
  })
}

/** Returns the folders in landing and spool of workspaces that the replay does not rebuild. */
async function otherFolders({ home, workspaces }: Config, landing: LandingStore): Promise<string[]> {
  const rebuilt = new Set(workspaces.map(({ id }) => pathSegment(id)))
  const spools = (await entriesIn(spoolRoot(home))).filter(entry => entry.isDirectory()).map(({ name }) => name)
  const folders = new Set([...(await landing.folders()), ...spools])
  return [...folders].filter(name => !rebuilt.has(name)).sort()
}

/** Refuses to lose rows that only the warehouse of another layout has: no command of this version reads it. @throws REPLAY_LOSES_ROWS */
async function expectNoOtherRows(config: Config): Promise<void> {
  const { home, workspaces } = config
  const { landing } = openStores(home)
  const others = await otherFolders(config, landing)
  if (others.length > 0)
    throw new ConvohouseError('REPLAY_LOSES_ROWS', {
      what: `The warehouse has another layout, and this replay would leave out workspaces that have landed: ${others.join(', ')}. Nothing was changed.`,
      hint: 'Run `convohouse replay` without --workspace, with all of them configured; or pass --drop-expired, which leaves their rows in the file that is moved aside.',
      facts: { workspaces: others.join(', ') },
    })
  for (const { id } of workspaces) {
    const pages = [...(await landing.workspace(id).expired()).values()].reduce((sum, count) => sum + count, 0)
    const archives = await expiredArchives(home, id)
    if (pages + archives === 0) continue
    throw new ConvohouseError('REPLAY_LOSES_ROWS', {
      what: `The warehouse has another layout, and retention has removed ${pages} pages and ${archives} archives of events of workspace ${id}: their rows are in that warehouse only. Nothing was changed.`,
      hint: 'Use the version of convohouse that wrote it; or pass --drop-expired, which leaves those rows in the file that is moved aside.',
      facts: { workspace: id, pages, archives },
    })
  }
}

/** Moves the warehouse aside, its log first, since DuckDB would apply a remaining log to the new file. @returns its new path */
async function moveAside({ config, now = Date.now }: ReplayOptions): Promise<string> {
  const file = warehouseFile(config.home)
  const aside = warehouseFile(config.home, `warehouse.replaced-${compactTimestamp(now())}.duckdb`)
  if (existsSync(`${file}.wal`)) await rename(`${file}.wal`, `${aside}.wal`)
  await rename(file, aside)
  return aside
}

/** Opens the warehouse to replace; null if it has another layout. */
const openOld = (config: Config): Promise<App | null> =>
  openApp({ config }).catch(error => {
    if (isCode(error, 'WAREHOUSE_LAYOUT')) return null
    throw error
  })

/**
 * Rebuilds the data of every configured workspace; other workspaces stay unchanged. A warehouse of another layout is moved aside.
 * @throws WAREHOUSE_MISSING if there is no warehouse and nothing has landed; WAREHOUSE_LOCKED, LOAD_FAILED, LANDING_CORRUPT, LANDING_INCOMPLETE, REPLAY_LOSES_ROWS, HOME_UNUSABLE
 */
export async function replay(options: WholeReplayOptions): Promise<ReplayReport> {
  const { config } = options
  const file = warehouseFile(config.home)
  if (!existsSync(file)) return replayIntoNothing(options)
  // The old warehouse stays open during the replay, so that no sync can write to it and queries are still answered from it.
  const old = await openOld(config)
  if (old === null) {
    await expectLanded(config)
    if (!options.dropExpired) await expectNoOtherRows(config)
    await removeRebuilt(config.home)
    const movedTo = await moveAside(options)
    return { ...(await replayIntoNothing(options)), movedTo }
  }
  let report: ReplayReport
  try {
    if ((await options.isNeeded?.()) === false) {
      await old.close()
      return EMPTY_REPLAY
    }
    report = await rebuildFrom(options, old)
  } catch (error) {
    await old.close()
    await removeRebuilt(config.home)
    throw error
  }
  await old.close()
  await expectNoLog(config, file)
  await rename(rebuiltFile(config.home), file)
  return report
}
