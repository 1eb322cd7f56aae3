// Erases forgotten people from a data folder: rows of the warehouse that is replaced, then pages and events. Every rebuild
// does so first, since a backup that was restored may have brought them back.
import type { App } from '../app.ts'
import { quoteText } from '../catalog/layout.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import type { Forgotten } from '../core/identifiers.ts'
import { eraseFiles, pagesOfLostIds } from '../steps/forgetting/erase-files.ts'
import type { Writer } from '../warehouse/connection.ts'
import { eraseRecords } from '../warehouse/maintenance/erase-records.ts'
import { forgottenRecords } from '../warehouse/maintenance/forgotten-records.ts'

/** What was erased, by place. */
export type ErasedPlaces = Record<string, number>

function add(places: ErasedPlaces, more: Readonly<Record<string, number>>): void {
  for (const [place, count] of Object.entries(more)) if (count > 0) places[place] = (places[place] ?? 0) + count
}

/** Deletes what the bookkeeping has of pages that were erased as a whole. */
async function forgetPages(writer: Writer, workspaceId: string, pages: readonly string[]): Promise<void> {
  if (pages.length === 0) return
  const files = pages.map(quoteText).join(', ')
  for (const table of ['_loads', '_requests'])
    await writer.run(`DELETE FROM ${table} WHERE workspace_id = ${quoteText(workspaceId)} AND file IN (${files})`)
}

async function eraseWorkspace(
  { home }: Config,
  { stores, warehouse }: Pick<App, 'stores'> & { warehouse: App['warehouse'] | null },
  {
    workspace: { id: workspaceId },
    forgotten,
    nowMs,
  }: { workspace: WorkspaceConfig; forgotten: Forgotten; nowMs: number },
): Promise<ErasedPlaces> {
  const places: ErasedPlaces = {}
  const landing = stores.landing.workspace(workspaceId)
  const files = { home, workspaceId, landing, forgotten, dryRun: false }
  if (warehouse === null) {
    add(places, (await eraseFiles(files)).places)
    return places
  }
  const { writer } = warehouse
  const records = await forgottenRecords(writer, workspaceId, forgotten)
  if (records.length > 0)
    for (const { table, rows } of await eraseRecords(writer, { workspaceId, records, nowMs }))
      add(places, { [table]: rows })
  const erased = await eraseFiles({ ...files, isLost: await pagesOfLostIds(writer, workspaceId) })
  await forgetPages(writer, workspaceId, erased.pages)
  add(places, erased.places)
  return places
}

/**
 * Erases everybody with a tombstone from the configured workspaces. `warehouse` is null if there is none.
 * @returns what was erased, by place @throws HOME_UNUSABLE, LANDING_CORRUPT, SPOOL_CORRUPT
 */
export async function eraseForgotten(
  config: Config,
  open: Pick<App, 'stores'> & { warehouse: App['warehouse'] | null },
  nowMs: number,
): Promise<ErasedPlaces> {
  const places: ErasedPlaces = {}
  for (const workspace of config.workspaces) {
    const forgotten = await open.stores.landing.workspace(workspace.id).forgotten()
    if (!forgotten.isEmpty) add(places, await eraseWorkspace(config, open, { workspace, forgotten, nowMs }))
  }
  return places
}
