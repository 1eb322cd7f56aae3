// `convohouse quarantine show`: a record as it landed. It is its owner's own data, and goes to standard output alone.
import { openStores } from '../../app/stores.ts'
import { webhookEvent } from '../../catalog/event-records.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { quarantinedEvent } from '../../warehouse/events/apply.ts'
import { storedEvent } from '../../warehouse/events/stored.ts'
import { landedRecord } from '../../warehouse/load/coerce-page.ts'
import { storageOf } from '../query/storage.ts'
import { type Rows, reportRows } from '../status/reading.ts'
import { log, printJson } from '../terminal/print.ts'
import { type Entry, named, type QuarantineFlags, quarantined } from './entries.ts'

async function recordOf(home: string, { workspaceId, record, file, element }: Entry): Promise<Uint8Array> {
  const type = RECORD_TYPES.find(({ name }) => name === record)
  const body = await openStores(home).landing.workspace(workspaceId).body(file)
  const found = type && landedRecord(type, body, element)
  if (found) return found
  throw new ConvohouseError('LANDING_CORRUPT', {
    what: `The landed file ${file} has no element ${element}.`,
    hint: 'Restore it from a backup.',
    facts: { file },
  })
}

/** An event is kept whole, whatever of it could not be loaded. */
async function eventOf(rows: Rows, { workspaceId, file }: Entry): Promise<Uint8Array> {
  const event = await storedEvent({ rows }, workspaceId, quarantinedEvent(file))
  return event?.payload ?? Buffer.from('null')
}

/** @throws RECORD_UNKNOWN, LANDING_CORRUPT, WAREHOUSE_MISSING */
export async function runShow(name: string, flags: QuarantineFlags): Promise<void> {
  const storage = storageOf(flags.config)
  const rows = reportRows(storage)
  const [entry] = named(await quarantined(rows, flags.workspace), [name])
  const isEvent = entry!.record === webhookEvent.name
  const bytes = await (isEvent ? eventOf(rows, entry!) : recordOf(storage.home, entry!))
  if (flags.json) return printJson({ ...entry, text: new TextDecoder().decode(bytes) })
  log(`${entry!.file}#${entry!.element}`, `Quarantined since ${entry!.since}: ${entry!.reason}`)
  process.stdout.write(bytes)
  process.stdout.write('\n')
}
