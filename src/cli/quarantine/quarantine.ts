// `convohouse quarantine list` and `show`: the records that could not be loaded. A record is the user's own data, and is printed on standard
// output only.
import { openStores } from '../../app/stores.ts'
import { counted } from '../../core/words.ts'
import { type QuarantinedRecord, quarantinedRecords, recordBytes, recordsNamed } from '../../reports/quarantine.ts'
import { warehouseRows } from '../../warehouse/query/rows.ts'
import { storageOf } from '../storage.ts'
import { grid } from '../terminal/grid.ts'
import { log, print, printJson } from '../terminal/print.ts'
import { isTerminal, styleOf } from '../terminal/style.ts'

export interface QuarantineFlags {
  config?: string
  workspace?: string
  json?: boolean
}

/** @throws WAREHOUSE_MISSING; WAREHOUSE_LOCKED when the process that holds the warehouse does not answer */
export async function runList(flags: QuarantineFlags): Promise<void> {
  const records = await quarantinedRecords(warehouseRows(storageOf(flags.config)), flags.workspace)
  if (flags.json) printJson({ quarantined: records })
  else print(...lines(records))
}

const COLUMNS = [
  { name: 'id' },
  { name: 'workspace' },
  { name: 'since (UTC)' },
  { name: 'reason' },
  { name: 'element', right: true },
  { name: 'file' },
]

function lines(records: readonly QuarantinedRecord[]): string[] {
  if (records.length === 0) return ['No record is quarantined.']
  const width = isTerminal(process.stdout) ? process.stdout.columns : undefined
  return [
    ...grid(COLUMNS, records.map(cells), { width, style: styleOf(process.stdout) }),
    '',
    `${counted(records.length, 'record')}. \`convohouse quarantine show ID\` prints one, \`convohouse quarantine retry\` tries them again.`,
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

/** @throws RECORD_UNKNOWN, LANDING_CORRUPT, WAREHOUSE_MISSING */
export async function runShow(name: string, flags: QuarantineFlags): Promise<void> {
  const storage = storageOf(flags.config)
  const rows = warehouseRows(storage)
  const [record] = recordsNamed(await quarantinedRecords(rows, flags.workspace), [name])
  const bytes = await recordBytes(rows, openStores(storage.home).landing, record!)
  if (flags.json) return printJson({ ...record, text: new TextDecoder().decode(bytes) })
  log(`${record!.file}#${record!.element}`, `Quarantined since ${record!.since}: ${record!.reason}`)
  process.stdout.write(bytes)
  process.stdout.write('\n')
}
