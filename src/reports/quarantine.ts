// The quarantined records, and their bytes in the landing.
import { createHash } from 'node:crypto'
import { webhookEvent } from '../catalog/events/event-records.ts'
import { RECORD_TYPES } from '../catalog/records.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { LandingStore } from '../landing/landing.ts'
import { archivedEvent } from '../spool/read-archive.ts'
import { payloadAddress, quarantinedEvent } from '../warehouse/events/apply.ts'
import { landedRecord } from '../warehouse/load/coerce-page.ts'
import type { Rows } from '../warehouse/query/rows.ts'

export interface QuarantinedRecord {
  /** Short hash of file and element. */
  id: string
  workspaceId: string
  /** Record type. */
  record: string
  file: string
  /** Position in the page, from 1. */
  element: number
  reason: string
  /** ISO-8601 UTC */
  since: string
}

const ID_LENGTH = 8

const idOf = (file: string, element: number): string =>
  createHash('sha256').update(`${file}#${element}`).digest('hex').slice(0, ID_LENGTH)

/** Returns the quarantined records of a workspace, or of all; oldest first. */
export async function quarantinedRecords(rows: Rows, workspaceId?: string): Promise<QuarantinedRecord[]> {
  const found = await rows<Omit<QuarantinedRecord, 'id'>>(`
    SELECT workspace_id AS "workspaceId", record, file, element, reason, quarantined_at AS since
    FROM _quarantine ORDER BY quarantined_at, file, element`)
  return found
    .filter(record => workspaceId === undefined || record.workspaceId === workspaceId)
    .map(record => ({ id: idOf(record.file, record.element), ...record }))
}

/** Counts the quarantined records of all workspaces. */
export async function countQuarantined(rows: Rows): Promise<number> {
  const [found] = await rows<{ n: number }>('SELECT count(*) AS n FROM _quarantine')
  return found?.n ?? 0
}

/** Returns the records with these names. A name is an id, or FILE#ELEMENT. @throws RECORD_UNKNOWN */
export function recordsNamed(records: readonly QuarantinedRecord[], names: readonly string[]): QuarantinedRecord[] {
  return names.map(name => {
    const record = records.find(({ id, file, element }) => name === id || name === `${file}#${element}`)
    if (record) return record
    throw new ConvohouseError('RECORD_UNKNOWN', {
      what: `There is no quarantined record ${JSON.stringify(name)}.`,
      hint: 'Use an id that `convohouse quarantine list` shows, or FILE#ELEMENT.',
    })
  })
}

/**
 * Returns the bytes of a record as landed. For an event: the whole event, including the loadable parts.
 * @throws LANDING_CORRUPT, SPOOL_CORRUPT
 */
export async function recordBytes(
  rows: Rows,
  { home, landing }: { home: string; landing: LandingStore },
  quarantined: QuarantinedRecord,
): Promise<Uint8Array> {
  const { workspaceId, record, file, element } = quarantined
  if (record === webhookEvent.name) {
    const id = quarantinedEvent(file)
    const address = await payloadAddress({ rows }, workspaceId, id)
    if (address) return (await archivedEvent(home, address)).payload
    throw new ConvohouseError('SPOOL_CORRUPT', {
      what: `The payload of event ${id} is no longer in the spool: its file had expired, or was missing or damaged, when the warehouse was rebuilt.`,
      hint: 'Restore the spool from a backup and run `convohouse replay`. What could be loaded of the event is in `webhook_events`.',
    })
  }
  const type = RECORD_TYPES.find(({ name }) => name === record)
  const body = await landing.workspace(workspaceId).body(file)
  const found = type && landedRecord(type, body, element)
  if (found) return found
  throw new ConvohouseError('LANDING_CORRUPT', {
    what: `The landed file ${file} has no element ${element}.`,
    hint: 'Restore it from a backup.',
    facts: { file },
  })
}
