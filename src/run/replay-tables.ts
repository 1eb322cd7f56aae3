// Rebuilds single tables from the loaded files in a temporary warehouse, then replaces the open warehouse's rows in one transaction.
// Quarantined records stay quarantined: loading one here would add it to some tables and not to others.
import { drainAll } from '../../workflows/ingest.ts'
import { spoolOf } from '../app/spool.ts'
import { type App, openApp } from '../app.ts'
import { quoteText } from '../catalog/layout.ts'
import type { WorkspaceConfig } from '../config.ts'
import { applyTimeZone } from '../warehouse/load/time-zone.ts'
import {
  lostRows,
  preserveGoneFiles,
  preserveMarks,
  preserveQuarantinedSince,
  withRebuilt,
} from '../warehouse/maintenance/preserve-rows.ts'
import { checkReplaceable, replaceTables } from '../warehouse/maintenance/replace-tables.ts'
import { refreshMarts } from '../warehouse/marts/refresh.ts'
import { applyResponseRules } from '../warehouse/marts/response-rules.ts'
import { expectWarehouse, type Warehouse } from '../warehouse/open.ts'
import { loadedFiles } from '../warehouse/planning/loaded-files.ts'
import {
  added,
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
  type Selection,
} from './rebuild.ts'

async function heldBack({ writer }: Warehouse, workspaceId: string): Promise<Map<string, Map<number, string>>> {
  const rows = await writer.rows<{ file: string; element: number; reason: string }>(
    `SELECT file, element, reason FROM _quarantine WHERE workspace_id = ${quoteText(workspaceId)}`,
  )
  const byFile = new Map<string, Map<number, string>>()
  for (const { file, element, reason } of rows)
    byFile.set(file, (byFile.get(file) ?? new Map<number, string>()).set(element, reason))
  return byFile
}

const selectionOf = async (live: Warehouse, workspaceId: string): Promise<Selection> => ({
  files: await loadedFiles(live.writer, workspaceId),
  heldBack: await heldBack(live, workspaceId),
})

const drainNow = ({ config, now = Date.now }: ReplayOptions, app: App, workspace: WorkspaceConfig) =>
  drainAll(spoolOf({ app, home: config.home, workspace, now }), workspace.id)

/**
 * Rebuilds only these tables, for the configured workspaces. Rows that only expired pages supplied stay.
 * @throws TABLE_UNKNOWN, WAREHOUSE_MISSING, LANDING_INCOMPLETE, REPLAY_LOSES_ROWS, WAREHOUSE_LOCKED, LOAD_FAILED, LANDING_CORRUPT
 */
export async function replayTables(options: ReplayOptions & { tables: readonly string[] }): Promise<ReplayReport> {
  const { config, tables } = options
  checkReplaceable(tables)
  expectWarehouse(
    config.home,
    'Set the right data folder (`home`, CONVOHOUSE_HOME); or omit --table to build the whole warehouse.',
  )
  const app = await openApp({ config })
  const { warehouse: live } = app
  let report = EMPTY_REPLAY
  try {
    const { gone, expired } = await goneOf(config, app, {
      allowIncomplete: false,
      hint: 'Restore them from a backup: without them the table would lose rows.',
    })
    report = { ...report, expired }
    for (const { id, timeZone, responseRules } of config.workspaces) {
      await applyTimeZone(live.writer, id, timeZone)
      await applyResponseRules(live.writer, id, { ...responseRules, timeZone })
    }
    // Drains first: a waiting event would be in the rebuilt tables only, and the next drain would apply it to them again.
    for (const workspace of config.workspaces) await drainNow(options, app, workspace)
    await rebuildBeside(config, async rebuilt => {
      for (const workspace of config.workspaces) {
        const selection = await selectionOf(live, workspace.id)
        report = added(report, await loadAll(options, { ...app, warehouse: rebuilt }, workspace, selection))
      }
    })
    report = { ...report, keptEvents: await keepEvents(live.writer, options) }
    const workspaceIds = config.workspaces.map(({ id }) => id)
    await withRebuilt(live.writer, rebuiltFile(config.home), async () => {
      for (const id of workspaceIds) await preserveGoneFiles(live.writer, id, gone.get(id)!)
      if (expired > 0) await preserveMarks(live.writer, workspaceIds)
      await preserveQuarantinedSince(live.writer, workspaceIds)
      expectNothingLost(await lostRows(live.writer, workspaceIds, tables))
      // A record that can no longer be loaded leaves its tables and must appear in the quarantine.
      await replaceTables(live.writer, { names: [...tables, '_quarantine'], workspaceIds })
    })
    await refreshMarts(live.writer)
    await buildModels(config, live)
  } finally {
    await app.close()
    await removeRebuilt(config.home)
  }
  return report
}
