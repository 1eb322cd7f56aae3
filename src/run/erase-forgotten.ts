// Erases forgotten people from a data folder: rows of the warehouse that is replaced, then pages and events. Every rebuild
// does so first, since a backup that was restored may have brought them back.
import type { App } from '../app.ts'
import { quoteText } from '../catalog/layout.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import type { Forgotten } from '../core/identifiers.ts'
import { eraseEvents } from '../spool/erase-events.ts'
import { eraseFiles, pagesOfLostIds } from '../steps/forgetting/erase-files.ts'
import { isErasedEvent } from '../steps/forgetting/forgotten-events.ts'
import type { Writer } from '../warehouse/connection.ts'
import { eraseRecords } from '../warehouse/maintenance/erase-records.ts'
import { forgottenRecords } from '../warehouse/maintenance/forgotten-records.ts'

/** What was erased. */
export interface Erased {
  /** Numbers by place. */
  places: Readonly<Record<string, number>>
  /** Of the replaced pages of each workspace (`eraseFiles`). */
  checksums: readonly string[]
}

const sum = (a: Erased, b: Erased): Erased => {
  const places = { ...a.places }
  for (const [place, count] of Object.entries(b.places)) if (count > 0) places[place] = (places[place] ?? 0) + count
  return { places, checksums: [...a.checksums, ...b.checksums] }
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
): Promise<Erased> {
  const landing = stores.landing.workspace(workspaceId)
  const files = { home, workspaceId, landing, forgotten, dryRun: false }
  if (warehouse === null) {
    const { places, checksums, begun } = await eraseFiles(files)
    if (begun.length > 0) await landing.rememberBegun(begun, nowMs)
    return { places, checksums }
  }
  const { writer } = warehouse
  const records = await forgottenRecords(writer, workspaceId, forgotten)
  // Rows of events do not have all contact fields, and a replay keeps rows whose event is in no file.
  await eraseEvents({ home, workspaceId, dryRun: true }, event => {
    const isErased = isErasedEvent(forgotten, event)
    if (isErased && event) records.push({ table: 'webhook_events', key: [event.id] })
    return isErased
  })
  const tables = records.length === 0 ? [] : await eraseRecords(writer, { workspaceId, records, nowMs })
  const isLost = await pagesOfLostIds(writer, workspaceId)
  const { places, checksums, pages, begun } = await eraseFiles({ ...files, isLost })
  // The next drain erases their other events.
  if (begun.length > 0) await landing.rememberBegun(begun, nowMs)
  await forgetPages(writer, workspaceId, pages)
  const rows = Object.fromEntries(tables.map(({ table, rows }) => [table, rows]))
  return { places: { ...rows, ...places }, checksums }
}

/**
 * Erases everybody with a tombstone from the configured workspaces. `warehouse` is null if there is none.
 * @throws HOME_UNUSABLE, LANDING_CORRUPT, SPOOL_CORRUPT
 */
export async function eraseForgotten(
  config: Config,
  open: Pick<App, 'stores'> & { warehouse: App['warehouse'] | null },
  nowMs: number,
): Promise<Erased> {
  let erased: Erased = { places: {}, checksums: [] }
  for (const workspace of config.workspaces) {
    const forgotten = await open.stores.landing.workspace(workspace.id).forgotten()
    if (!forgotten.isEmpty) erased = sum(erased, await eraseWorkspace(config, open, { workspace, forgotten, nowMs }))
  }
  return erased
}
