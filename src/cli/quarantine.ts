// `convohouse quarantine`: lists the records that could not be loaded, prints one, or tries to load them again. A
// record is the user's own data, so it is printed on standard output only.
import { Command } from 'commander'
import { openStores } from '../app/stores.ts'
import type { App } from '../app.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { counted } from '../core/words.ts'
import { type QuarantinedRecord, quarantinedRecords, recordBytes, recordsNamed } from '../reports/quarantine.ts'
import { type RetryReport, retryRecords } from '../run/quarantine-retry.ts'
import { expectWarehouse } from '../warehouse/open.ts'
import { type Rows, warehouseRows } from '../warehouse/query/rows.ts'
import { chooseWorkspaces, configAt, storageOf } from './flags/configuration.ts'
import { addConfigFlag, addWorkspaceFlag } from './flags/sync-flags.ts'
import { openAppWhenReleased } from './open-app.ts'
import { grid, gridOnStdout } from './terminal/columns.ts'
import { answerFor } from './terminal/controls.ts'
import { log, print, printJson } from './terminal/print.ts'

const RECORD_HELP = 'an id from `list`, or FILE#ELEMENT'

const addFlags = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command)).option('--json', 'one JSON object, for machines')

const listCommand = (): Command =>
  addFlags(new Command('list').description('list the records, with reason and date; works while a sync runs')).action(
    runList,
  )

const showCommand = (): Command =>
  addFlags(new Command('show').description('print a record as it landed; works while a sync runs'))
    .argument('<record>', RECORD_HELP)
    .action(runShow)

const retryCommand = (): Command =>
  addFlags(
    new Command('retry').description(
      'read the records from landing and spool again and load those that can be loaded now',
    ),
  )
    .argument('[records...]', `${RECORD_HELP}; default: all`)
    .action(runRetry)

export const define = (command: Command): Command =>
  command
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(showCommand())
    .addCommand(retryCommand())
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse quarantine list
  $ convohouse quarantine show 3f2a91c0 | jq .
  $ convohouse quarantine retry              after an update, or with more memory

A record that cannot be loaded does not stop a sync and is not lost: it stays unchanged in the landing, an event in the
spool's archive.`,
    )

interface QuarantineFlags {
  config?: string
  workspace?: string
  json?: boolean
}

/** Runs `quarantine list`. @throws WAREHOUSE_MISSING; WAREHOUSE_LOCKED if the process that holds the warehouse does not answer */
async function runList(flags: QuarantineFlags): Promise<void> {
  const records = await quarantinedRecords(warehouseRows(storageOf(flags.config)), flags.workspace)
  if (flags.json) printJson({ quarantined: records })
  else print(...listLines(records))
}

const COLUMNS = [
  { name: 'id' },
  { name: 'workspace' },
  { name: 'since (UTC)' },
  { name: 'reason' },
  { name: 'element', right: true },
  { name: 'file' },
]

function listLines(records: readonly QuarantinedRecord[]): string[] {
  if (records.length === 0) return ['No record is quarantined.']
  return [
    ...grid(COLUMNS, records.map(cells), gridOnStdout()),
    '',
    `${counted(records.length, 'record')}. \`convohouse quarantine show ID\` prints one, \`convohouse quarantine retry\` tries to load them again.`,
  ]
}

const cells = ({ id, workspaceId, since, reason, element, file }: QuarantinedRecord): string[] => [
  id,
  workspaceId,
  since.slice(0, 19).replace('T', ' '),
  reason,
  String(element),
  file,
]

/** Runs `quarantine show`. @throws RECORD_UNKNOWN, LANDING_CORRUPT, SPOOL_CORRUPT, WAREHOUSE_MISSING */
async function runShow(name: string, flags: QuarantineFlags): Promise<void> {
  const storage = storageOf(flags.config)
  const rows = warehouseRows(storage)
  const [record] = recordsNamed(await quarantinedRecords(rows, flags.workspace), [name])
  const { home } = storage
  const bytes = await recordBytes(rows, { home, landing: openStores(home).landing }, record!)
  if (flags.json) return printJson({ ...record, text: new TextDecoder().decode(bytes) })
  log(`${record!.file}#${record!.element}`, `Quarantined since ${record!.since}: ${record!.reason}`)
  process.stdout.write(answerFor(process.stdout, bytes))
  process.stdout.write('\n')
}

/** Reads through this process's warehouse connection. */
const rowsOf =
  ({ warehouse }: App): Rows =>
  <R>(sql: string) =>
    warehouse.writer.rows<R>(sql)

/** `staysFor`: why the record is still quarantined; null if it was loaded. */
type Retried = QuarantinedRecord & { staysFor: string | null }

const retryLines = (reports: readonly Retried[]): string[] => {
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
): Promise<Retried[]> {
  const ids = new Set(workspaces.map(({ id }) => id))
  const all = (await quarantinedRecords(rowsOf(app))).filter(({ workspaceId }) => ids.has(workspaceId))
  const chosen = names.length === 0 ? all : [...new Set(recordsNamed(all, names))]
  const reports: Retried[] = []
  for (const workspace of workspaces) {
    const records = chosen.filter(({ workspaceId }) => workspaceId === workspace.id)
    const report: RetryReport = await retryRecords({ config, app, workspace, records })
    for (const record of records) reports.push({ ...record, staysFor: report(record) })
  }
  return reports
}

/** Runs `quarantine retry`, holding the warehouse. @throws RECORD_UNKNOWN, WORKSPACE_UNKNOWN, WAREHOUSE_MISSING, WAREHOUSE_LOCKED, LOAD_FAILED */
async function runRetry(names: readonly string[], flags: QuarantineFlags): Promise<void> {
  const config = configAt(flags.config)
  const workspaces = chooseWorkspaces(config, flags.workspace)
  expectWarehouse(config.home)
  const app = await openAppWhenReleased(config)
  try {
    const reports = await retryAll(config, app, workspaces, names)
    const stillQuarantined = reports.filter(({ staysFor }) => staysFor !== null)
    if (flags.json) printJson({ loaded: reports.length - stillQuarantined.length, stillQuarantined })
    else print(...retryLines(reports))
  } finally {
    await app.close()
  }
}
