// `convohouse quarantine retry`: loads quarantined records again, in this process, which holds the warehouse meanwhile.
import type { App } from '../../app.ts'
import { type Config, readConfig, type WorkspaceConfig } from '../../config.ts'
import { counted } from '../../core/words.ts'
import { type QuarantinedRecord, quarantinedRecords, recordsNamed } from '../../reports/quarantine.ts'
import { type RetryReport, retryRecords } from '../../run/quarantine-retry.ts'
import { expectWarehouse } from '../../warehouse/open.ts'
import type { Rows } from '../../warehouse/query/rows.ts'
import { chooseWorkspaces } from '../flags/workspaces.ts'
import { openAppWhenReleased } from '../sync/open-app.ts'
import { print, printJson } from '../terminal/print.ts'
import type { QuarantineFlags } from './quarantine.ts'

/** Rows of the warehouse that this process holds. */
const rowsOf =
  ({ warehouse }: App): Rows =>
  <R>(sql: string) =>
    warehouse.writer.rows<R>(sql)

const lines = (reports: readonly (QuarantinedRecord & { staysFor: string | null })[]): string[] => {
  const staying = reports.filter(({ staysFor }) => staysFor !== null)
  const loaded = reports.length - staying.length
  if (reports.length === 0) return ['No record is quarantined.']
  return [
    `${counted(loaded, 'record')} loaded, ${counted(staying.length, 'record')} still quarantined.`,
    ...staying.map(({ id, file, element, staysFor }) => `  ${id}  ${file}#${element}: ${staysFor}`),
  ]
}

async function retryAll(
  config: Config,
  app: App,
  workspaces: readonly WorkspaceConfig[],
  names: readonly string[],
): Promise<(QuarantinedRecord & { staysFor: string | null })[]> {
  const ids = new Set(workspaces.map(({ id }) => id))
  const all = (await quarantinedRecords(rowsOf(app))).filter(({ workspaceId }) => ids.has(workspaceId))
  const chosen = names.length === 0 ? all : [...new Set(recordsNamed(all, names))]
  const reports: (QuarantinedRecord & { staysFor: string | null })[] = []
  for (const workspace of workspaces) {
    const records = chosen.filter(({ workspaceId }) => workspaceId === workspace.id)
    const report: RetryReport = await retryRecords({ config, app, workspace, records })
    for (const record of records) reports.push({ ...record, staysFor: report(record) })
  }
  return reports
}

/** @throws RECORD_UNKNOWN, WORKSPACE_UNKNOWN, WAREHOUSE_MISSING, WAREHOUSE_LOCKED, LOAD_FAILED */
export async function runRetry(names: readonly string[], flags: QuarantineFlags): Promise<void> {
  const config = readConfig(flags.config === undefined ? {} : { path: flags.config })
  const workspaces = chooseWorkspaces(config, flags.workspace)
  expectWarehouse(config.home)
  const app = await openAppWhenReleased(config)
  try {
    const reports = await retryAll(config, app, workspaces, names)
    const stillQuarantined = reports.filter(({ staysFor }) => staysFor !== null)
    if (flags.json) printJson({ loaded: reports.length - stillQuarantined.length, stillQuarantined })
    else print(...lines(reports))
  } finally {
    await app.close()
  }
}
